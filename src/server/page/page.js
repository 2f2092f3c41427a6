'use strict';

const at = (id) => document.getElementById(id);
// What is, of the tenants that the key may see. What has happened since the start is for /metrics.
const labels = [['ready', 'Due now'], ['later', 'Later'], ['waiting', 'Waiting for others'], ['processing', 'Running'],
  ['dlq', 'Parked'], ['workers', 'Workers']];

// What went wrong, in words; '' if nothing did.
async function signIn(body) {
  const answer = await fetch('/login', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  if (answer.ok) return '';
  if (answer.status === 401) return body.token ? 'This link was used or is too old. Ask for a new one.' : 'This key is not known.';
  const said = await answer.json().catch(() => null);
  return said?.error?.message || `The server answers ${answer.status}.`;
}

function cell(row, text) {
  const td = document.createElement('td');
  td.textContent = text;
  row.append(td);
}

function when(text) {
  return text ? new Date(text).toLocaleString() : '–';
}

function showStatus(status) {
  at('state').textContent = `${status.version}, ${status.enabled ? 'running' : 'disabled'}, ${when(status.now)}`;
  const list = at('numbers').querySelector('dl');
  list.replaceChildren();
  const { ready, workers, counts } = status;
  // Both are counted at moments of their own.
  const later = Math.max(0, counts.queued - ready);
  const values = { ready, later, workers, waiting: counts.waiting, processing: counts.processing, dlq: counts.dlq };
  for (const [name, label] of labels) {
    const group = document.createElement('div');
    const term = document.createElement('dt');
    const value = document.createElement('dd');
    term.textContent = label;
    value.textContent = String(values[name] ?? '–');
    group.append(term, value);
    list.append(group);
  }
}

// Those whose last occurrences failed or were parked, the worst first.
function showTrouble(schedules) {
  const body = at('trouble').querySelector('tbody');
  body.replaceChildren();
  const wrong = schedules.filter((one) => one.error_count > 0).sort((a, b) => b.error_count - a.error_count);
  for (const one of wrong.slice(0, 20)) {
    const row = document.createElement('tr');
    row.className = 'wrong';
    cell(row, one.name);
    cell(row, one.last_outcome || '–');
    cell(row, String(one.error_count));
    cell(row, one.last_error || '–');
    body.append(row);
  }
  at('trouble').hidden = wrong.length === 0;
}

function showSchedules(schedules) {
  const body = at('next').querySelector('tbody');
  body.replaceChildren();
  const order = schedules.slice().sort((a, b) => (a.next_at || '9').localeCompare(b.next_at || '9'));
  for (const one of order.slice(0, 20)) {
    const row = document.createElement('tr');
    cell(row, one.name);
    cell(row, when(one.next_at));
    cell(row, one.last_outcome || '–');
    body.append(row);
  }
  at('none').hidden = schedules.length > 0;
}

// The tenant whose schedules are shown: the one that was chosen, else the only one of the key, or `default`.
async function tenantShown() {
  const answer = await fetch('/v1/tenants');
  if (!answer.ok) return null;
  const names = (await answer.json()).items.map((one) => one.tenant);
  const choice = at('tenant');
  const chosen = names.includes(choice.value) ? choice.value : names.includes('default') ? 'default' : names[0];
  choice.replaceChildren(...names.map((name) => new Option(name, name, false, name === chosen)));
  at('tenants').hidden = names.length < 2;
  return chosen ?? null;
}

async function refresh() {
  const status = await fetch('/v1/status');
  const signedIn = status.ok;
  for (const id of ['numbers', 'next', 'logout']) at(id).hidden = !signedIn;
  at('login').hidden = signedIn;
  if (!signedIn) {
    at('trouble').hidden = true;
    at('tenants').hidden = true;
    at('state').textContent = status.status === 401 ? 'Sign in to look.' : `The server answers ${status.status}.`;
    return;
  }
  showStatus(await status.json());
  const tenant = await tenantShown();
  const schedules = tenant === null ? null : await fetch(`/v1/tenants/${encodeURIComponent(tenant)}/schedules?limit=500`);
  if (!schedules?.ok) return;
  const { items } = await schedules.json();
  showTrouble(items);
  showSchedules(items);
}

async function look() {
  try {
    await refresh();
  } catch {
    at('state').textContent = 'The server does not answer.';
  }
}

at('login').addEventListener('submit', async (event) => {
  event.preventDefault();
  const refused = await signIn({ key: at('key').value.trim() }).catch(() => 'The server does not answer.');
  at('refused').textContent = refused;
  if (!refused) look();
});

at('tenant').addEventListener('change', look);

at('logout').addEventListener('click', async () => {
  await fetch('/logout', { method: 'POST' });
  look();
});

(async () => {
  const token = new URLSearchParams(location.hash.slice(1)).get('login');
  if (token) {
    history.replaceState(null, '', '/');
    at('refused').textContent = await signIn({ token }).catch(() => 'The server does not answer.');
  }
  await look();
  setInterval(look, 5000);
})();
