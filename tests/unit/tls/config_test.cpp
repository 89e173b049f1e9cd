// A wrong configuration is refused with the name of its field before any use.
#include "support/scratch_folder.hpp"
#include "unit/tls/tls_support.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include <openssl/evp.h>
#include <openssl/pem.h>

namespace rota::test::config_test {
namespace {

using tls::config_error;

struct complaint {
  std::string field;
  std::string text;
  std::error_code code;
};

template <class Maker, class Config>
complaint complaint_of(const Config& c) {
  try {
    static_cast<void>(Maker(c));
  } catch (const config_error& e) {
    return {e.field(), e.what(), e.code()};
  }
  return {};
}
complaint of_client(const tls::client_config& c) { return complaint_of<tls::client>(c); }
complaint of_server(const tls::server_config& c) { return complaint_of<tls::server>(c); }

tls::server_config with_identity(void (*change)(tls::identity&)) {
  tls::server_config config = serving_example();
  change(config.identities[0]);
  return config;
}

TEST(identities, must_be_complete_and_given_once) {
  EXPECT_EQ(of_server({}).field, "server_config.identities");
  const auto no_chain = of_server(with_identity([](tls::identity& i) { i.chain_pem.clear(); }));
  EXPECT_EQ(no_chain.field, "server_config.identities[0].chain_file");
  const auto no_key = of_server(with_identity([](tls::identity& i) { i.key_pem.clear(); }));
  EXPECT_EQ(no_key.field, "server_config.identities[0].key_file");
  const auto twice = of_server(with_identity([](tls::identity& i) { i.key_file = "x"; }));
  EXPECT_EQ(twice.field, "server_config.identities[0].key_file");
  EXPECT_NE(twice.text.find("key_pem"), std::string::npos) << twice.text;
  EXPECT_EQ(twice.code, std::errc::invalid_argument);
}

TEST(identities, must_be_valid_pem) {
  const auto none = of_server(with_identity([](tls::identity& i) { i.chain_pem = "hello"; }));
  EXPECT_EQ(none.field, "server_config.identities[0].chain_pem");
  const auto broken =
      of_server(with_identity([](tls::identity& i) { i.chain_pem.resize(i.chain_pem.size() / 2); }));
  EXPECT_EQ(broken.field, "server_config.identities[0].chain_pem");
  const auto key = of_server(with_identity([](tls::identity& i) { i.key_pem = "hello"; }));
  EXPECT_EQ(key.field, "server_config.identities[0].key_pem");
  const auto other = of_server(with_identity([](tls::identity& i) { i.key_pem = root().issue({}).key_pem; }));
  EXPECT_EQ(other.field, "server_config.identities[0].key_pem");
  EXPECT_NE(other.text.find("not the key of the certificate"), std::string::npos) << other.text;
}

TEST(files, that_are_missing_are_named_in_the_error) {
  tls::server_config server = serving_example();
  server.identities[0].key_pem.clear();
  server.identities[0].key_file = "/nowhere/key.pem";
  const auto key = of_server(server);
  EXPECT_EQ(key.field, "server_config.identities[0].key_file");
  EXPECT_EQ(key.code, std::errc::no_such_file_or_directory) << key.text;
  EXPECT_NE(key.text.find("/nowhere/key.pem"), std::string::npos);
  tls::client_config client;
  client.ca_file = "/nowhere/ca.pem";
  EXPECT_EQ(of_client(client).code, std::errc::no_such_file_or_directory);
  client = {};
  client.ca_folder = "/nowhere";
  EXPECT_EQ(of_client(client).field, "client_config.ca_folder");
  EXPECT_EQ(of_client(client).code, std::errc::no_such_file_or_directory);
  client.ca_folder = "/dev/null";
  EXPECT_EQ(of_client(client).code, std::errc::not_a_directory);
  client.ca_folder = std::string("/etc\0/other", 11);
  EXPECT_EQ(of_client(client).code, std::errc::invalid_argument) << "what stands behind the zero counts";
}

// A read that waits for the FIFO's writer would hang.
TEST(files, that_are_not_regular_are_refused_and_not_waited_for) {
  const scratch_folder folder;
  const std::string fifo = folder.at("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string link = folder.at("link to the fifo");
  ASSERT_EQ(::symlink(fifo.c_str(), link.c_str()), 0);
  for (const std::string& path : {fifo, link, std::string("/dev/null"), folder.root()}) {
    tls::server_config server = serving_example();
    server.identities[0].chain_pem.clear();
    server.identities[0].chain_file = path;
    const complaint chain = of_server(server);
    EXPECT_EQ(chain.field, "server_config.identities[0].chain_file") << path;
    EXPECT_NE(chain.text.find(path), std::string::npos) << chain.text;
    server = serving_example();
    server.identities[0].key_pem.clear();
    server.identities[0].key_file = path;
    EXPECT_EQ(of_server(server).field, "server_config.identities[0].key_file") << path;
    tls::client_config client;
    client.ca_file = path;
    const complaint ca = of_client(client);
    EXPECT_EQ(ca.field, "client_config.ca_file") << path;
    EXPECT_EQ(ca.code, path == folder.root() ? std::errc::is_a_directory : std::errc::invalid_argument)
        << ca.text;
  }
}

TEST(files, may_be_symbolic_links_to_regular_files) {
  const scratch_folder folder;
  folder.write("data/ca.pem", root().pem());
  const std::string link = folder.at("ca.pem");
  ASSERT_EQ(::symlink("data/ca.pem", link.c_str()), 0);
  tls::client_config config;
  config.ca_file = link;
  const ends both = shake(config, serving_example());
  EXPECT_FALSE(both.of_client()) << both.of_client().message();
}

// OpenSSL opens these files in a handshake.
TEST(files, in_a_ca_folder_must_be_regular_if_they_are_named_by_a_hash) {
  const scratch_folder folder;
  ASSERT_EQ(::mkfifo(folder.at("no hash").c_str(), 0600), 0);
  tls::client_config client;
  client.ca_folder = folder.root();
  EXPECT_EQ(of_client(client).field, "");
  const std::string fifo = folder.at("0123abcd.0");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const complaint said = of_client(client);
  EXPECT_EQ(said.field, "client_config.ca_folder");
  EXPECT_NE(said.text.find(fifo), std::string::npos) << said.text;
}

TEST(files, of_the_system_trust_must_not_be_fifos) {
  const scratch_folder folder;
  const std::string fifo = folder.at("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_EQ(::setenv("SSL_CERT_FILE", fifo.c_str(), 1), 0);
  const complaint said = of_client({});
  ::unsetenv("SSL_CERT_FILE");
  EXPECT_EQ(said.field, "client_config.trust_system");
  EXPECT_NE(said.text.find(fifo), std::string::npos) << said.text;
}

/// Returns the key, encrypted by `password`.
std::string encrypted(const std::string& key_pem, const std::string& password) {
  const std::unique_ptr<BIO, int (*)(BIO*)> in(BIO_new_mem_buf(key_pem.data(), -1), BIO_free);
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(
      PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  const std::unique_ptr<BIO, int (*)(BIO*)> out(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_PKCS8PrivateKey(out.get(),
                                key.get(),
                                EVP_aes_256_cbc(),
                                password.data(),
                                static_cast<int>(password.size()),
                                nullptr,
                                nullptr);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

TEST(keys, that_are_encrypted_need_their_password) {
  tls::server_config config = serving_example();
  config.identities[0].key_pem = encrypted(config.identities[0].key_pem, "open");
  EXPECT_EQ(of_server(config).field, "server_config.identities[0].key_pem") << "and nobody is asked for one";
  EXPECT_NE(of_server(config).text.find("key_password"), std::string::npos);
  config.identities[0].key_password = "shut";
  EXPECT_EQ(of_server(config).field, "server_config.identities[0].key_pem");
  config.identities[0].key_password = "open";
  const ends both = shake(trusting(), config);
  EXPECT_FALSE(both.of_client());
}

TEST(trust, comes_from_a_folder) {
  const scratch_folder folder;
  // The name that openssl-rehash(1) would give.
  const std::unique_ptr<BIO, int (*)(BIO*)> in(BIO_new_mem_buf(root().pem().data(), -1), BIO_free);
  const std::unique_ptr<X509, void (*)(X509*)> ca(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr),
                                                  X509_free);
  char name[16];
  std::snprintf(name, sizeof name, "%08lx.0", X509_subject_name_hash(ca.get()));
  folder.write(name, root().pem());
  tls::client_config config;
  config.ca_folder = folder.root();
  const ends both = shake(config, serving_example());
  EXPECT_FALSE(both.of_client()) << both.of_client().message();
}

TEST(trust, in_the_system_does_not_include_unknown_issuers) {
  for (const auto which :
       {tls::system_trust::unless_others, tls::system_trust::always, tls::system_trust::never}) {
    tls::client_config config;
    config.trust_system = which;
    const ends both = shake(config, serving_example());
    EXPECT_EQ(both.of_client(), tls::verify_error::unknown_issuer);
  }
}

TEST(limits, that_are_exceeded_are_reported_with_the_field) {
  tls::client_config client;
  client.alpn = {"h2", ""};
  EXPECT_EQ(of_client(client).field, "client_config.alpn[1]");
  client.alpn = {std::string(256, 'x')};
  EXPECT_EQ(of_client(client).field, "client_config.alpn[0]");
  client.alpn.assign(300, std::string(255, 'x'));
  EXPECT_EQ(of_client(client).field, "client_config.alpn");
  client.alpn.clear();
  client.remembered_hosts = 65537;
  EXPECT_EQ(of_client(client).field, "client_config.remembered_hosts");
  client.remembered_hosts = 65536;
  EXPECT_EQ(of_client(client).field, "");
  client.own = {of_example_com(), of_example_com()};
  EXPECT_EQ(of_client(client).field, "client_config.own");
  client.own = {of_example_com()};
  client.own[0].key_pem = "x";
  EXPECT_EQ(of_client(client).field, "client_config.own[0].key_pem");
}

TEST(client_certificates, need_a_trusted_ca_in_the_server_config) {
  tls::server_config config = serving_example();
  for (const auto how : {tls::client_certificates::optional, tls::client_certificates::required}) {
    config.from_clients = how;
    EXPECT_EQ(of_server(config).field, "server_config.ca_file");
  }
  config.ca_pem = "nothing";
  EXPECT_EQ(of_server(config).field, "server_config.ca_pem");
}

}  // namespace
}  // namespace rota::test::config_test
