// A client in Node, with nothing but fetch: each kind of call of the API, as a user would write it.
//
//   node client.mjs http://127.0.0.1:7440 KEY
//
// Prints the number of checks that passed; the first that fails ends it with exit code 1.
import assert from "node:assert/strict";

const [base, key] = process.argv.slice(2);
const T = "/v1/tenants/default";
let checks = 0;

async function call(method, path, body, { status = 200, as = key, headers = {} } = {}) {
  const response = await fetch(base + path, {
    method,
    headers: { authorization: `Bearer ${as}`, ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  assert.equal(response.status, status, `${method} ${path}: ${text}`);
  checks += 1;
  return text === "" ? null : response.headers.get("content-type").startsWith("application/json") ? JSON.parse(text) : text;
}
const get = (path, options) => call("GET", path, undefined, options);
const post = (path, body, options) => call("POST", path, body ?? {}, options);
const put = (path, body, options) => call("PUT", path, body ?? {}, options);
const lease = async (types, more = {}) => (await post("/v1/leases", { worker: "node", types, ...more })).items;

// The events of a stream as they come, until `wanted` says yes.
async function events(wanted) {
  const stop = new AbortController();
  const response = await fetch(base + "/v1/events", { headers: { authorization: `Bearer ${key}` }, signal: stop.signal });
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const seen = (async () => {
    let text = "";
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const block = text.slice(0, end).split("\n");
        text = text.slice(end + 2);
        const name = block.find((line) => line.startsWith("event: "))?.slice(7);
        const data = block.find((line) => line.startsWith("data: "))?.slice(6);
        if (name && data && wanted(name, JSON.parse(data))) {
          stop.abort();
          return true;
        }
      }
    }
    return false;
  })();
  return { seen };
}

async function jobs() {
  const job = await post(T + "/jobs", { type: "node.a", payload: { text: "größer ☃" }, delay: "1h", tags: ["n"] }, { status: 201 });
  assert.deepEqual(job.payload, { text: "größer ☃" });
  assert.equal((await get(`${T}/jobs/${job.id}`)).id, job.id);
  assert.equal((await get(`${T}/jobs?type=node.a&tag=n&limit=1`)).items[0].id, job.id);
  assert.equal((await get(`${T}/jobs/${job.id}/explain`)).steps[0].what, "created");
  assert.equal((await call("PATCH", `${T}/jobs/${job.id}`, { priority: "high" })).priority, 2);
  assert.equal((await post(`${T}/jobs/${job.id}/cancel`)).state, "cancelled");
  const again = await post(`${T}/jobs/${job.id}/rerun`, {}, { status: 201 });
  assert.equal(again.parent_id, job.id);
  const once = { type: "node.once", idempotency_key: "node-1", delay: "1h" };
  const first = await post(T + "/jobs", once, { status: 201 });
  const second = await post(T + "/jobs", once, { status: 200 });
  assert.deepEqual([second.id, second.deduplicated], [first.id, true]);
  const other = await post(T + "/jobs", { ...once, payload: 1 }, { status: 409 });
  assert.equal(other.error.code, "idempotency_conflict");
}

async function batches() {
  const made = await post(T + "/jobs/batch", { jobs: [{ type: "node.first" }, { type: "node.second", depends_on: ["#0"] }] }, { status: 201 });
  assert.equal((await get(`${T}/jobs/${made.items[1].id}`)).state, "waiting");
  const [first] = await lease(["node.first"]);
  await post(`${T}/jobs/${first.id}/complete`, { token: first.token });
  const [second] = await lease(["node.second"], { wait: "10s" });
  assert.equal(second.id, made.items[1].id);
  await post(`${T}/jobs/${second.id}/complete`, { token: second.token });
  const bulk = await post(T + "/jobs/bulk", { action: "cancel", filter: { type: "node.once" } }, { status: 202 });
  for (let left = 200; (await get(`${T}/bulk/${bulk.id}`)).state === "running"; left -= 1) {
    assert.ok(left > 0);
    await new Promise((done) => setTimeout(done, 20));
  }
  assert.equal((await post(`${T}/bulk/${bulk.id}/stop`)).done, 1);
}

async function workers() {
  const job = await post(T + "/jobs", { type: "node.work" }, { status: 201 });
  const path = `${T}/jobs/${job.id}`;
  const final = get(path + "?wait=20s"); // a long poll, answered at the end
  const [mine] = await lease(["node.work"], { lease: "30s", wait: "10s" });
  assert.equal((await post(path + "/heartbeat", { token: mine.token, progress: { done: 1 } })).cancel_requested, false);
  const claim = { job: job.id, token: mine.token };
  assert.equal((await put(`${T}/effects/node-mail`, claim)).claim, "first");
  await post(`${T}/effects/node-mail/done`, { ...claim, result: 7 });
  assert.deepEqual(await put(`${T}/effects/node-mail`, claim), { claim: "done", result: 7 });
  const stale = await post(path + "/complete", { token: mine.token + 1 }, { status: 409 });
  assert.equal(stale.error.code, "stale_token");
  await post(path + "/complete", { token: mine.token, output: { ok: true } });
  assert.deepEqual((await final).output, { ok: true });

  await post(T + "/jobs/batch", { jobs: Array.from({ length: 4 }, () => ({ type: "node.many", retry: { kind: "none" } })) }, { status: 201 });
  const many = await lease(["node.many"], { limit: 10, wait: "10s" });
  assert.equal(many.length, 4);
  const kept = await post("/v1/leases/extend", { items: many.map(({ id, token }) => ({ id, token })) });
  assert.equal(kept.items.length, 4);
  const words = [{ complete: {} }, { fail: { error: "no", permanent: true } }, { defer: { until: "1h" } }, { release: {} }];
  const said = await post("/v1/leases/settle", { items: many.map(({ id, token }, i) => ({ id, token, ...words[i] })) });
  assert.deepEqual(said.items.map((item) => item.state), ["done", "dlq", "queued", "queued"]);
  assert.equal((await post(`${T}/jobs/${many[1].id}/retry`)).state, "queued");
  assert.equal((await post(`${T}/jobs/${many[2].id}/run`)).state, "queued");
  assert.ok((await get(T + "/workers")).items.some((one) => one.worker === "node"));
  // One that nobody fills is answered when its time is over.
  assert.deepEqual(await lease(["node.nothing"], { wait: "300ms" }), []);
}

async function schedules() {
  const path = T + "/schedules/node";
  const body = { trigger: { kind: "daily", at: "08:00" }, timezone: "Europe/Paris", job: { type: "node.digest" } };
  assert.equal((await put(path, body, { status: 201 })).revision, 1);
  assert.equal((await put(path, body)).revision, 1);
  assert.equal((await put(path, { ...body, timezone: "UTC" }, { status: 409, headers: { "if-match": '"9"' } })).error.code, "conflict");
  assert.equal((await call("PATCH", path, { timezone: "UTC" })).revision, 2);
  assert.equal((await get(path + "/preview?count=2")).items.length, 2);
  assert.notEqual((await post(path + "/pause")).paused_until, null);
  assert.equal((await post(path + "/resume")).paused_until, null);
  assert.equal((await post(path + "/trigger", { payload: 1 }, { status: 201 })).origin, "manual");
  assert.ok((await get(path + "/explain")).summary);
  assert.equal((await get(T + "/schedules?limit=500")).items.filter((one) => one.name === "node").length, 1);
  assert.equal((await post("/v1/preview", { trigger: "every:2h", count: 3 })).items.length, 3);
  assert.equal(await call("DELETE", path, undefined, { status: 204 }), null);
  assert.equal((await get(path, { status: 404 })).error.code, "schedule_not_found");
}

async function settings() {
  assert.equal((await put(T + "/settings", { weight: 2 })).weight, 2);
  assert.equal((await get(T + "/settings")).weight, 2);
  assert.equal((await put(T + "/queues/node", { max_concurrency: 3 })).max_concurrency, 3);
  assert.ok((await get(T + "/queues")).items.some((one) => one.queue === "node"));
  for (const under of [T, "/v1"]) {
    assert.equal((await put(under + "/limits/node", { rate: 5, per: "1s" })).rate, 5);
    assert.equal((await get(under + "/limits/node")).rate, 5);
    assert.ok((await get(under + "/limits")).items.length >= 1);
    await call("DELETE", under + "/limits/node", undefined, { status: 204 });
    await put(under + "/maintenance", { reason: "node" });
    assert.equal((await get(under + "/maintenance")).reason, "node");
    await call("DELETE", under + "/maintenance", undefined, { status: 204 });
  }
  assert.equal((await put("/v1/config", { timezone: "UTC" })).timezone, "UTC");
  assert.equal((await get("/v1/config")).timezone, "UTC");
  const handler = await put(T + "/handlers/node.hook", { kind: "webhook", url: "https://hooks.example.com/x" });
  assert.match(handler.secret, /^whsec_/);
  assert.equal((await get(T + "/handlers/node.hook")).url, "https://hooks.example.com/x");
  await call("DELETE", T + "/handlers/node.hook", undefined, { status: 204 });
}

async function administration() {
  await put("/v1/tenants/node-tenant", undefined);
  const made = await post("/v1/keys", { name: "node", scope: "read", tenants: ["node-tenant"] }, { status: 201 });
  assert.deepEqual((await get("/v1/tenants", { as: made.key })).items, [{ tenant: "node-tenant" }]);
  assert.equal((await post("/v1/tenants/node-tenant/jobs", { type: "x" }, { as: made.key, status: 403 })).error.code, "forbidden");
  assert.equal((await get(T + "/jobs", { as: made.key, status: 404 })).error.code, "tenant_not_found");
  assert.ok((await get("/v1/keys")).items.some((one) => one.id === made.id));
  await call("DELETE", "/v1/keys/" + made.id, undefined, { status: 204 });
  await get("/v1/tenants", { as: made.key, status: 401 });
  assert.ok((await get("/v1/tenants/node-tenant/audit")).items.length >= 1);
  await call("DELETE", "/v1/tenants/node-tenant", undefined, { status: 204 });
  assert.ok((await get("/v1/audit")).items.length >= 1);
  assert.equal((await get("/healthz")).status, "ok");
  assert.equal((await get("/readyz")).status, "ready");
  assert.ok((await get("/v1/status")).counts);
  assert.match(await get("/metrics"), /carillon_jobs_picked_total/);
  assert.equal((await get("/openapi.json")).openapi, "3.1.0");
  assert.ok((await post("/login", { key }, { headers: { origin: base } })).csrf_token);
}

async function stream() {
  let id = null;
  const names = [];
  const { seen } = await events((name, data) => {
    names.push(name);
    return name === "job.changed" && data.id === id && data.state === "done" && data.metadata.id === id;
  });
  id = (await post(T + "/jobs", { type: "node.seen" }, { status: 201 })).id;
  const [mine] = await lease(["node.seen"], { wait: "10s" });
  await post(`${T}/jobs/${id}/complete`, { token: mine.token });
  assert.ok(await seen);
  assert.ok(names.length >= 2);
  checks += 1;
}

for (const part of [jobs, batches, workers, schedules, settings, administration, stream]) {
  try {
    await part();
  } catch (error) {
    console.error(`${part.name}: ${error.stack}`);
    process.exit(1);
  }
}
console.log(`REPORT node client: ${checks} calls answered as documented`);
