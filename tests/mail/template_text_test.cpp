#include <fmt/format.h>

#include "mail/template_text.h"

#include "mail/address.h"
#include "server/handlers/support/fake_context.h"

namespace carillon::mail {
namespace {

using namespace carillon::test;

std::string rendered(std::string_view text, const std::string& payload,
                     TemplateText::Escape escape = TemplateText::Escape::none) {
  const FakeContext context(payload);
  const TemplateText parsed = value_of(TemplateText::parse(text));
  return value_of(parsed.render({context.job(), context.payload()}, escape));
}

TEST(TemplateText, FieldsAreFilledIn) {
  EXPECT_EQ(rendered("", "null"), "");
  EXPECT_EQ(rendered("plain } text {", "null"), "plain } text {");
  EXPECT_EQ(rendered("Hello {{payload.user.name}}!", R"({"user":{"name":"Ada"}})"), "Hello Ada!");
  EXPECT_EQ(rendered("{{ payload.items.1 }}", R"({"items":["a","b"]})"), "b");
  EXPECT_EQ(rendered("{{payload.n}} {{payload.b}} {{payload.o}}", R"({"n":1.50,"b":true,"o":{"x": [1]}})"),
            R"(1.50 true {"x": [1]})");
  EXPECT_EQ(rendered("{{payload}}", R"("all")"), "all");
  EXPECT_EQ(rendered("{{job.id}}/{{job.tenant}}/{{job.type}}/{{job.attempt}}/{{job.schedule}}", "null"),
            format_job_id({.value = 1}) + "/acme/report.build/1/");
}

TEST(TemplateText, AValueIsNeverReadAsATemplate) {
  EXPECT_EQ(rendered("{{payload.a}}", R"({"a":"{{payload.b}}","b":"secret"})"), "{{payload.b}}");
  EXPECT_EQ(rendered("{{payload.a}}payload.b}}", R"({"a":"{{","b":"secret"})"), "{{payload.b}}");
}

TEST(TemplateText, HtmlIsEscapedInValuesOnly) {
  EXPECT_EQ(rendered("<b>{{payload.a}}</b>", R"({"a":"<script>'\"&"})", TemplateText::Escape::html),
            "<b>&lt;script&gt;&#39;&quot;&amp;</b>");
}

TEST(TemplateText, WhatTheJobLacksIsAnError) {
  const FakeContext context(R"({"a":{"b":null},"l":[1]})");
  for (const std::string_view text : {"{{payload.x}}", "{{payload.a.b}}", "{{payload.a.b.c}}", "{{payload.l.1}}",
                                      "{{payload.l.x}}", "{{payload.l.-1}}", "{{payload.l.99999999999999999999}}"}) {
    const Error error = error_of(value_of(TemplateText::parse(text)).render({context.job(), context.payload()}));
    EXPECT_THAT(error.message, ::testing::HasSubstr("does not have")) << text;
  }
}

TEST(TemplateText, WhatNoJobHasIsRefusedWhenItIsConfigured) {
  for (const std::string_view text :
       {"{{", "{{payload", "{{payload.a}", "{{}}", "{{ }}", "{{user}}", "{{job}}", "{{job.secret}}", "{{job.id.x}}",
        "{{payload.}}", "{{payload..a}}", "{{.payload}}", "{{{{payload}}}}", "{{PAYLOAD}}", "{{payload.a}} {{"}) {
    const Error error = error_of(TemplateText::parse(text));
    EXPECT_EQ(error.code, ErrorCode::invalid_configuration) << text;
    expect_one_line(error);
  }
}

// ---- Addresses
// --------------------------------------------------------------------------------------------------------

std::vector<EmailAddress> addresses(std::string_view text, const std::string& payload) {
  const FakeContext context(payload);
  return value_of(value_of(AddressTemplate::parse(text, AddressTemplate::Gives::several))
                      .render({context.job(), context.payload()}));
}

TEST(AddressTemplate, OneOrSeveralAreFilledIn) {
  using List = std::vector<EmailAddress>;
  EXPECT_EQ(addresses("", "null"), List{});
  EXPECT_EQ(addresses("ops@example.com", "null"), (List{{"", "ops@example.com"}}));
  EXPECT_EQ(addresses("{{payload.to}}", R"({"to":"ada@example.com"})"), (List{{"", "ada@example.com"}}));
  EXPECT_EQ(addresses("{{payload.to}}", R"({"to":"\"Lovelace, Ada\" <ada@example.com>, bob@example.com"})"),
            (List{{"Lovelace, Ada", "ada@example.com"}, {"", "bob@example.com"}}));
  EXPECT_EQ(addresses("{{payload.to}}, ops@example.com", R"({"to":["a@x.de","B <b@x.de>"]})"),
            (List{{"", "a@x.de"}, {"B", "b@x.de"}, {"", "ops@example.com"}}));
  EXPECT_EQ(addresses("{{payload.name}} <{{payload.user}}@example.com>", R"({"name":"Ada, <x@y.z>","user":"ada"})"),
            (List{{"Ada, <x@y.z>", "ada@example.com"}}));
}

TEST(AddressTemplate, AValueNeverAddsAnAddress) {
  for (const std::string_view user :
       {"eve@evil.example>, <x", "x, eve@evil.example", "eve@evil.example> <x", "x@y", "a b", "\\\"x\\\"", "", "ä",
        "x>", "<x", "(x)", "x;y", "x:y", "a..b", ".a", "a."}) {
    const FakeContext context(R"({"user":")" + std::string(user) + R"("})");
    for (const std::string_view text : {"{{payload.user}}@example.com", "Ada <{{payload.user}}@example.com>"}) {
      const auto list = value_of(AddressTemplate::parse(text, AddressTemplate::Gives::several))
                            .render({context.job(), context.payload()});
      EXPECT_FALSE(list) << user;
    }
  }
}

TEST(AddressTemplate, AJobGivesOneAddressUnlessTheOperatorSaysAList) {
  for (const std::string_view to :
       {R"("ada@example.com, eve@evil.example")", R"("Ada <ada@example.com>, Eve <eve@evil.example>")",
        R"("ada@example.com,")", R"(",ada@example.com")", R"(["ada@example.com","eve@evil.example"])",
        R"("ada@example.com,eve@evil.example,")"}) {
    const FakeContext context(fmt::format(R"({{"to":{}}})", to));
    for (const std::string_view text : {"{{payload.to}}", "ops@example.com, {{payload.to}}"}) {
      const auto one = value_of(AddressTemplate::parse(text, AddressTemplate::Gives::one));
      EXPECT_FALSE(one.render({context.job(), context.payload()})) << to;
    }
  }
  // Several places of the operator's own are several addresses, one each.
  const FakeContext context(R"({"to":["ada@example.com"],"boss":"\"B, C\" <bob@example.com>"})");
  const auto both = value_of(AddressTemplate::parse("{{payload.to}}, {{payload.boss}}", AddressTemplate::Gives::one));
  EXPECT_EQ(value_of(both.render({context.job(), context.payload()})),
            (std::vector<EmailAddress>{{"", "ada@example.com"}, {"B, C", "bob@example.com"}}));
}

TEST(AddressTemplate, WhatIsNoAddressIsRefused) {
  for (const std::string_view text : {"", "ada", "@example.com", "ada@", "ada@@example.com ", "ada@exa mple.com",
                                      "ada@example..com", "<ada@example.com", "ada@example.com>", "ada@[127.0.0.1]",
                                      "ada@exämple.com", "a@b,c@d", "\"a b\"@example.com"}) {
    EXPECT_FALSE(parse_email_address(text)) << text;
  }
  EXPECT_FALSE(parse_email_address(std::string(65, 'a') + "@example.com"));
  EXPECT_FALSE(parse_email_address("a@" + std::string(300, 'a')));
  const FakeContext context(R"({"to":[)" + [] {
    std::string many = R"("a@b.de")";
    for (std::size_t i = 0; i < kMailRecipientsMax; ++i) many += R"(,"a@b.de")";
    return many;
  }() + "]}");
  EXPECT_FALSE(value_of(AddressTemplate::parse("{{payload.to}}", AddressTemplate::Gives::several))
                   .render({context.job(), context.payload()}));
  EXPECT_FALSE(AddressTemplate::parse("a@b.de,,c@d.de", AddressTemplate::Gives::one));
  EXPECT_FALSE(AddressTemplate::parse("Ada <>", AddressTemplate::Gives::one));
}

}  // namespace
}  // namespace carillon::mail
