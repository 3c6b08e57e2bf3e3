// SPDX-License-Identifier: Apache-2.0
#include "base/secrets/secrets.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace parley::base {

namespace {

using enum SecretKind;

// Tokens are put together here, so that none stands in the sources in one piece.
std::string joined(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts) {
    all.append(part);
  }
  return all;
}

// Letters and digits as a random source gives them.
std::string body(size_t size) {
  constexpr std::string_view letters =
      "aZ3kQ9xLm2Vb7TnR4pWc8YsD1fHg6JeUoKtNvXiEwSqCyBzMlAjGhFdPrO05u";
  std::string text;
  while (text.size() < size) {
    text.push_back(letters[(text.size() * 7) % letters.size()]);
  }
  return text;
}

std::string capitals(size_t size) {
  std::string text = body(size * 4);
  std::erase_if(text, [](char c) { return c >= 'a' && c <= 'z'; });
  return text.substr(0, size);
}

// Found as this kind, the whole of it, alone and in the middle of other text.
void expect_found(const std::string& secret, SecretKind kind) {
  for (const std::string& before : {std::string(), std::string("use "), std::string("\"x\": \"")}) {
    for (const std::string& after : {std::string(), std::string(" now"), std::string("\",\n")}) {
      const std::string text = before + secret + after;
      const auto found = find_secrets(text);
      ASSERT_EQ(found.size(), 1u) << text;
      EXPECT_EQ(secret_kind_name(found[0].kind), secret_kind_name(kind)) << text;
      EXPECT_EQ(text.substr(found[0].at, found[0].size), secret);
    }
  }
}

void expect_nothing(std::string_view text) {
  for (const Secret& each : find_secrets(text)) {
    ADD_FAILURE() << secret_kind_name(each.kind) << ": " << text.substr(each.at, each.size)
                  << "\nin " << text;
  }
}

// The value alone is taken out.
void expect_assigned(std::string_view name, std::string_view value, std::string_view rest,
                     SecretKind kind) {
  const std::string text = joined({name, value, rest});
  EXPECT_EQ(without_secrets(text), joined({name, redaction(kind), rest})) << text;
}

}  // namespace

// SP-11
TEST(Secrets, FindsTokensOfKnownForms) {
  expect_found(joined({"AK", "IA", capitals(16)}), aws_access_key);
  expect_found(joined({"AS", "IA", capitals(16)}), aws_access_key);
  expect_found(joined({"AI", "za", body(35)}), google_key);
  expect_found(joined({"GOCS", "PX-", body(28)}), google_key);
  for (const std::string_view letter : {"p_", "o_", "u_", "s_", "r_"}) {
    expect_found(joined({"gh", letter, body(36)}), github_token);
  }
  expect_found(joined({"github", "_pat_", body(22), "_", body(59)}), github_token);
  for (const std::string_view prefix : {"pat-", "rt-", "dt-", "ptt-"}) {
    expect_found(joined({"gl", prefix, body(20)}), gitlab_token);
  }
  for (const std::string_view letter : {"a", "b", "c", "e", "p", "r", "s"}) {
    expect_found(joined({"xo", "x", letter, "-2871", "63450-98127", "34-", body(24)}), slack_token);
  }
  expect_found(joined({"xa", "pp-1-A02", body(40)}), slack_token);
  for (const std::string_view prefix : {"sk_", "rk_"}) {
    expect_found(joined({prefix, "live_", body(24)}), stripe_key);
    expect_found(joined({prefix, "test_", body(24)}), stripe_key);
  }
  expect_found(joined({"wh", "sec_", body(32)}), stripe_key);
  expect_found(joined({"s", "k-", body(48)}), api_key);
  expect_found(joined({"s", "k-proj-", body(40), "_", body(30)}), api_key);
  expect_found(joined({"s", "k-ant-api03-", body(60), "-", body(20), "AA"}), api_key);
  expect_found(joined({"np", "m_", body(36)}), npm_token);
  expect_found(joined({"py", "pi-", body(100)}), pypi_token);
  expect_found(joined({"h", "f_", body(34)}), huggingface_token);
  expect_found(joined({"pr", "l_", body(43)}), parley_token);
  expect_found(joined({"ey", "JhbGciOiJIUzI1NiJ9", ".", "eyJzdWIiOiIxMjM0In0", ".", body(43)}),
               jwt);
}

TEST(Secrets, FindsThemBehindEscapesThatStandAsText) {
  const std::string token = joined({"gh", "p_", body(36)});
  for (const std::string_view before : {"line\\n", "a\\t", "x\\u000a", "q=%20", "q=%3D"}) {
    EXPECT_EQ(without_secrets(joined({before, token})), joined({before, redaction(github_token)}));
  }
  for (const std::string_view before : {"abc", "u00a", "20"}) {
    EXPECT_TRUE(find_secrets(joined({before, token})).empty()) << before;
  }
}

TEST(Secrets, FindsPrivateKeys) {
  for (const std::string_view label :
       {"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"}) {
    for (const std::string_view end : {"\n", "\\n", "\r\n"}) {
      const std::string key = joined({"-----", "BEGIN ", label, "-----", end, body(64), end,
                                      body(64), end, "-----", "END ", label, "-----"});
      EXPECT_EQ(without_secrets("key:\n" + key + "\nbye"), "key:\n[redacted:private_key]\nbye");
    }
  }
  // Cut off, as logs and dead letters have it.
  const std::string start = joined({"-----", "BEGIN ", "PRIVATE KEY-----\n", body(64), "\n"});
  EXPECT_EQ(without_secrets(start + body(20)), "[redacted:private_key]");
  // A service account of Google.
  EXPECT_EQ(without_secrets(R"({"type": "service_account", "private_key": ")" + start +
                            R"(", "client_email": "a@b.c"})"),
            R"({"type": "service_account", "private_key": "[redacted:private_key]", )"
            R"("client_email": "a@b.c"})");
}

TEST(Secrets, FindsWhatIsAssigned) {
  expect_assigned("password=", "hunt3rhunt3r", "", password);
  expect_assigned("?user=ana&password=", "hunter22x", "&x=1", password);
  expect_assigned("DB_PASSWORD=", "correcthorse", "\nA=b", password);
  expect_assigned("export PGPASSWORD='", "l0ng&odd", "'", password);
  expect_assigned("password: ", "Tr0ub4dor&3", "\n", password);
  expect_assigned(R"({"password": ")", "hunter2hunter2", R"("})", password);
  expect_assigned(R"({"password":")", "correcthorse", R"("})", password);
  expect_assigned(R"({\"password\": \")", "hunter2hunter2", R"(\"})", password);
  expect_assigned("password := \"", "hunter2hunter2", "\"", password);
  expect_assigned("'db.passwd' => '", "hunter2hunter2", "',", password);
  expect_assigned("config[\"password\"] = \"", "hunter2hunter2", "\"", password);
  expect_assigned("spring.datasource.password=", "S3cure!pw", "", password);
  expect_assigned("client_secret = \"", "9f8a7b6c5d4e3f2a1b0c", "\"", secret);
  expect_assigned("api-key: ", "9f8a7b6c5d4e3f2a1b0c", "", secret);
  expect_assigned("ACCESS_TOKEN=", "ya29a0b1c2d3e4", "", secret);
  expect_assigned(R"("token": ")", "a1b2c3d4e5f6", R"(")", secret);
  expect_assigned("Authorization: Bearer ", "a1b2c3d4e5f6a7b8", "\n", secret);
  expect_assigned("aws_secret_access_key = ", body(40), "\n", aws_secret_key);
  expect_assigned("AccountName=a;AccountKey=", body(86) + "==", ";EndpointSuffix=x", azure_key);
  expect_assigned("postgres://app:", "s3cr3tpw", "@db.local:5432/app", url_password);
}

TEST(Secrets, NamesTheKindThatItKnowsBest) {
  const std::string token = joined({"gh", "p_", body(36)});
  EXPECT_EQ(without_secrets("GITHUB_TOKEN=" + token), "GITHUB_TOKEN=[redacted:github_token]");
  EXPECT_EQ(without_secrets("token: \"" + token + "\""), "token: \"[redacted:github_token]\"");
  EXPECT_EQ(without_secrets("https://" + token + "@github.com/a/b"),
            "https://[redacted:github_token]@github.com/a/b");
  EXPECT_EQ(without_secrets("https://ana:" + token + "@github.com/a/b"),
            "https://ana:[redacted:url_password]@github.com/a/b");
  const std::string hook = joined({"https://hooks.sl", "ack.com/"});
  EXPECT_EQ(without_secrets(hook + "services/T024BE7LD/B18Q3K9ZX/" + body(24)),
            hook + "[redacted:slack_webhook]");
}

TEST(Secrets, FindsAllOfThemInOrder) {
  const std::string one = joined({"gh", "p_", body(36)});
  const std::string two = joined({"AK", "IA", capitals(16)});
  std::string text;
  std::string want;
  for (int n = 0; n < 50; ++n) {
    text.append(one).append(static_cast<size_t>(n), ' ').append(",").append(two).append(";");
    want.append("[redacted:github_token]").append(static_cast<size_t>(n), ' ');
    want.append(",[redacted:aws_access_key];");
  }
  EXPECT_EQ(without_secrets(text), want);
  const auto found = find_secrets(text);
  ASSERT_EQ(found.size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(found, {}, &Secret::at));
}

// Whatever stands before it: blocks of 16 bytes begin anywhere.
TEST(Secrets, FindsThemAtEveryPlace) {
  const std::string token = joined({"gh", "o_", body(36)});
  for (size_t before = 0; before < 40; ++before) {
    for (size_t after = 0; after < 20; ++after) {
      const std::string text = std::string(before, ' ') + token + std::string(after, ' ');
      const auto found = find_secrets(text);
      ASSERT_EQ(found.size(), 1u);
      EXPECT_EQ(found[0], (Secret{github_token, before, token.size()}));
    }
  }
}

TEST(Secrets, LeavesCodeAlone) {
  expect_nothing(R"(
    std::string password = read_password(prompt);
    const auto token = lexer.next_token2();
    if (password == other.password1) { return std::nullopt; }
    token = tokens[at++]; secret = config.secrets.v2.secret;
    def login(user: str, password: str, token: Optional[str] = None) -> bool:
        self.password = password; self.token = token or os.environ["TOKEN"]
        return check(user=user, password=password, api_key=api_key_v2, secret=get_secret(1))
    type Login = { password: string; token?: string; apiKey: ApiKey2 };
    password := os.Getenv("DB_PASSWORD_2")
    let secret: &'static str = include_str!("../secret.txt");
    sk_test_helpers::run(); npm_config_registry_for_all_of_the_packages_in_here_1 = 2;
    gh_pages_deploy_and_release_to_production_environment_2();
    <input type="password" name="password" placeholder="Password">
    max_tokens: 4096, eos_token = "<|endoftext|>", pad_token: "[PAD]"
    class="sk-folding-cube sk-child-element-animation-2"
    std::map<std::string, Token>::iterator; a ? b : c; x::y::token::z1
    :type passphrase: :py:data:`bytes`
    def sign(self, private_key: ed25519.Ed25519PrivateKey, password = $Config::Auth2->{password})
    origin http://[::1]:x1y2@host; kind == Means::password ? Kind::password : Kind::secret2a3b;
    git clone https://github.com/a/b.git && curl http://user@host:8080/a:b@c
  )");
}

TEST(Secrets, LeavesHashesAndIdsAlone) {
  expect_nothing("commit 3f786850e387550fdab836ed7e6dc881de23001b");
  expect_nothing("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  file.txt");
  expect_nothing("id: f47ac10b-58cc-4372-a567-0e02b2c3d479, key: 00f067aa0ba902b7");
  expect_nothing("traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  expect_nothing(R"("idempotency_key": "a1b2c3d4e5f6", "next_page_token": "Cg0xMjM0NTY3ODk")");
  expect_nothing(R"("public_key": "a1b2c3d4e5f6a1b2", "password_hash": "a1b2c3d4e5f6a1b2c3")");
  expect_nothing(R"("integrity": "sha512-)" + body(86) +
                 R"(==", "resolved": "https://r.org/a.tgz")");
  expect_nothing("golang.org/x/text v0.3.7 h1:" + body(43) + "=");
  expect_nothing("checksum = \"" + std::string(64, 'a') + "\"");
  expect_nothing("data:image/png;base64," + std::string("iVBORw0KGgoAAAANSUhEUgAA") + body(4'000) +
                 "AAAASUVORK5CYII=");
  // In the middle of base64, prefixes mean nothing.
  expect_nothing(body(50) + "AKIA" + capitals(16) + body(10));
  expect_nothing(body(50) + "AIza" + body(35));
  expect_nothing(body(50) + "eyJhbGciOi" + body(50));
  // JSON in base64 is no token.
  expect_nothing("eyJhbGciOiJIUzI1NiJ9 and eyJhbGciOiJIUzI1NiJ9.eyJzdWIi");
}

TEST(Secrets, LeavesProseAndSchemasAlone) {
  expect_nothing("Please reset my password: it is forgotten. The secret: drink more water.");
  expect_nothing("Tokens such as ghp_ or sk- begin with a prefix; AKIA is one of AWS, eyJ of JWT.");
  expect_nothing("The password must have at least 8 characters, a digit and a symbol.");
  expect_nothing(
      "A key begins with -----BEGIN PRIVATE KEY----- and ends with -----END "
      "PRIVATE KEY-----.");
  expect_nothing(R"("password": {"type": "string", "minLength": 8}, "token": "string")");
  expect_nothing(R"("password": "Password of the user, 8 characters at least")");
  expect_nothing(R"("password": "required|min:8|confirmed", "secret": "optional")");
  expect_nothing(R"("password": "^(?=.*[A-Z])(?=.*[0-9]).{8,}$")");
  expect_nothing("password: /run/secrets/db_password1\ntoken: ./token1a2b3c.txt");
  expect_nothing("password: true\npassword: null\npassword: \"\"\npassword: 1234\ntoken: 12345678");
}

TEST(Secrets, LeavesPlaceholdersAlone) {
  for (const std::string_view value : {"<your password>",
                                       "<password1>",
                                       "${PASSWORD}",
                                       "$PASSWORD",
                                       "$DB_PASSWORD_2",
                                       "{{ password1 }}",
                                       "%(password1)s",
                                       "xxxxxxxx",
                                       "xxxx-xxxx-1111",
                                       "********",
                                       "........",
                                       "changeme123",
                                       "your_password_1",
                                       "your-token-here1",
                                       "example1234",
                                       "[redacted:password]",
                                       "***1***1***1",
                                       "process.env.PASSWORD1",
                                       "vault:secret/data/db1",
                                       "AAAAAAAAAAAA"}) {
    for (const std::string_view name :
         {"password=", "password: ", "PASSWORD=", "token=", "secret: "}) {
      expect_nothing(joined({name, value}));
      expect_nothing(joined({name, "\"", value, "\""}));
    }
    expect_nothing(joined({"postgres://user:", value, "@localhost/db"}));
  }
  expect_nothing(
      "postgres://user:password@localhost/db mysql://root:root@localhost "
      "scheme://user:PASSWORD@host");
  expect_nothing(joined({"AK", "IA", "IOSFODNN7", "EXAMPLE"}));
  expect_nothing(joined({"gh", "p_", std::string(36, 'x')}));
  expect_nothing(joined({"s", "k-", std::string(48, 'x')}));
  expect_nothing(joined({"s", "k-your-key-goes-in-here-1234567890"}));
}

TEST(Secrets, JudgesTheValuesOfMembers) {
  Looks looks;
  EXPECT_EQ(secret_in_member("password", "hunter2hunter2", looks), password);
  EXPECT_EQ(secret_in_member("dbPassword", "Hunter2hunter2", looks), password);
  EXPECT_EQ(secret_in_member("authorization", "Bearer a1b2c3d4e5f6", looks), secret);
  EXPECT_EQ(secret_in_member("password", "short1", looks), count);
  EXPECT_EQ(secret_in_member("password", "two words 12", looks), count);
  EXPECT_EQ(secret_in_member("passwords", "hunter2hunter2", looks), count);
  EXPECT_EQ(secret_in_member("", "hunter2hunter2", looks), count);
  EXPECT_TRUE(names_password("PGPASSWORD"));
  EXPECT_FALSE(names_password("token"));
}

// What is taken out is found no second time.
TEST(Secrets, RedactsOnce) {
  const std::string token = joined({"gh", "p_", body(36)});
  for (const std::string& text :
       {"https://" + token + "@github.com/a", "https://ana:" + token + "@github.com/a",
        "GITHUB_TOKEN=" + token, "password: " + token, "a " + token + ":" + token + "@b"}) {
    const std::string once = without_secrets(text);
    EXPECT_NE(once, text);
    EXPECT_EQ(without_secrets(once), once);
  }
  for (size_t kind = 0; kind < static_cast<size_t>(count); ++kind) {
    const std::string text = redaction(static_cast<SecretKind>(kind));
    expect_nothing("password=" + text);
    expect_nothing("\"token\": \"" + text + "\"");
    Looks looks;
    EXPECT_EQ(secret_in_member("password", text, looks), count);
  }
}

// No text makes it look at the same bytes again and again. Looked at once, a MiB takes a few
// milliseconds; looked at 500 times, it would take the test beyond its time.
TEST(Secrets, IsLinearWhateverTheTextSays) {
  for (const std::string_view part : {"password=",
                                      "token:",
                                      "password: ",
                                      "secret=\"",
                                      "sk-",
                                      "ghp_",
                                      "xoxb-",
                                      "eyJ",
                                      "eyJa.",
                                      "-----BEGIN PRIVATE KEY-----",
                                      "-----",
                                      "://a:b",
                                      "AKIA",
                                      "A",
                                      "=",
                                      ":",
                                      "token='",
                                      "github_pat_",
                                      "eyJhbGciOiJI.",
                                      "password:x\\\""}) {
    std::string text;
    while (text.size() < (size_t{2} << 20)) {
      text.append(part);
    }
    EXPECT_LE(find_secrets(text).size(), text.size() / 8) << part;
  }
}

// A unit for each value that is judged, and one more for each 32 bytes of it.
TEST(Secrets, TakesALookForEachValue) {
  const std::string token = joined({"gh", "p_", body(36)});
  const std::string text = token + ", password=aaaaaaaa, password=short, the key: x, " + token;
  Looks enough(5);
  EXPECT_EQ(find_secrets(text, enough).size(), 2u);
  EXPECT_EQ(enough.denied(), 0u);
  Looks too_few(4);
  EXPECT_EQ(find_secrets(text, too_few).size(), 1u);
  EXPECT_EQ(too_few.denied(), 1u);
  // There is none for a cheaper one, either.
  EXPECT_EQ(secret_in_member("password", "hunter2hunter2", too_few), count);
  EXPECT_EQ(secret_in_member("password", "short", too_few), count);
  EXPECT_EQ(secret_in_member("name", "hunter2hunter2", too_few), count);
  EXPECT_EQ(too_few.denied(), 2u);
}

// To find out that a name means nothing takes time, too: a text can be made of nothing else.
TEST(Secrets, TakesALookForEachNameThatMayMeanOne) {
  for (const std::string_view part : {"key=", "monkey: ", "token=1 ", "config[\"token\"]=1,"}) {
    std::string text;
    while (text.size() < (size_t{1} << 20)) {
      text.append(part);
    }
    Looks looks;
    EXPECT_TRUE(find_secrets(text, looks).empty()) << part;
    EXPECT_EQ(looks.denied(), text.size() / part.size() > Looks::units_max * 8 ? 1u : 0u) << part;
    Looks few(100);
    EXPECT_TRUE(find_secrets(text, few).empty()) << part;
    EXPECT_EQ(few.denied(), 1u) << part;
  }
  Looks few(1);
  for (int n = 0; n < 8; ++n) {
    EXPECT_EQ(secret_in_member("monkey", "hunter2hunter2", few), count);
    EXPECT_EQ(secret_in_member("name", "hunter2hunter2", few), count) << "costs nothing";
  }
  EXPECT_EQ(few.denied(), 0u);
  EXPECT_EQ(secret_in_member("monkey", "hunter2hunter2", few), count);
  EXPECT_EQ(few.denied(), 1u);
}

// Each kind is paid for, so that no kind of text is judged without an end.
TEST(Secrets, EndsWhereTheLooksDo) {
  for (const std::string& secret :
       {joined({"gh", "p_", body(36)}), joined({"s", "k-", body(48)}),
        joined({"AK", "IA", capitals(16)}), joined({"AI", "za", body(35)}),
        joined({"ey", "JhbGciOiJIUzI1NiJ9", ".", "eyJzdWIiOiIxMjM0In0", ".", body(43)}),
        joined({"-----", "BEGIN ", "PRIVATE KEY-----\n", body(64), "\n-----", "END ",
                "PRIVATE KEY-----"}),
        std::string("password=hunter2hunter2"), std::string("postgres://app:s3cr3tpw@db"),
        joined({"https://hooks.sl", "ack.com/services/T024BE7LD/B18Q3K9ZX/", body(24)})}) {
    std::string text;
    for (int n = 0; n < 100; ++n) {
      text.append(secret).append(" ");
    }
    ASSERT_EQ(find_secrets(text).size(), 100u) << secret;
    Looks looks(99);
    EXPECT_LT(find_secrets(text, looks).size(), 100u) << secret;
    EXPECT_EQ(looks.denied(), 1u) << secret;
  }
}

TEST(Secrets, AreTakenOutOfTheBeginningOfAText) {
  const std::string token = joined({"gh", "p_", body(36)});
  const std::string text = "use " + token + " and " + token + std::string(5'000, ' ') + token;
  Looks looks;
  EXPECT_EQ(without_secrets(text, 3, looks), "use");
  EXPECT_EQ(without_secrets(text, 4, looks), "use ");
  for (const size_t size : {5u, 20u, 44u}) {
    EXPECT_EQ(without_secrets(text, size, looks), "use [redacted:github_token]") << size;
  }
  EXPECT_EQ(without_secrets(text, 46, looks), "use [redacted:github_token] a");
  EXPECT_EQ(without_secrets(text, SIZE_MAX, looks), without_secrets(text));
  EXPECT_EQ(without_secrets("\xc3\xa4", 1, looks), "");
  EXPECT_EQ(looks.denied(), 0u);
  // Without looks for all of it, it ends with what is known.
  Looks one(2);
  EXPECT_EQ(without_secrets(text, 100, one), "use [redacted:github_token]");
  EXPECT_EQ(without_secrets(text, 100, one), "");
}

// A placeholder is found in any case and at any place.
TEST(Secrets, KnowsPlaceholdersWhereverTheyStand) {
  for (const std::string_view part :
       {"your", "example", "PlaceHold", "CHANGEME", "change-me", "redacted", "Sample",
        "process.env", "self.", "vault:", "xXxX", "${", "{{", "...", "_here", "secretref"}) {
    for (const std::string_view before : {"", "k", "a1b2", "yo", "xx"}) {
      for (const std::string_view after : {"", "9", "z8y7"}) {
        expect_nothing(joined({"password=\"k3", before, part, after, "\""}));
      }
    }
  }
  for (const std::string_view value :
       {"k3youa1b2", "k3exampl1", "k3xxx1a2", "k3..a1b2", "k3$a1b2c"}) {
    EXPECT_EQ(find_secrets(joined({"password=\"", value, "\""})).size(), 1u) << value;
  }
}

}  // namespace parley::base
