// Unusable certificates and keys: the error is reported before the server listens.
#include "file_server/encryption.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include <rota/tls/self_signed.hpp>

#include "file_server/server.hpp"
#include "support/scratch_folder.hpp"
#include "unit/file_server/loopback.hpp"

namespace file_server::testing::encryption_with_tls_test {
namespace {

class encryption_of_files : public ::testing::Test {
 protected:
  void SetUp() override {
    const rota::tls::identity mine = rota::tls::self_signed({"localhost"}, 1);
    files_.write("certificate", mine.chain_pem);
    files_.write("key", mine.key_pem);
    files_.write("other key", rota::tls::self_signed({"localhost"}, 1).key_pem);
    files_.write("text", "no PEM\n");
  }

  void expect_error(std::string_view certificate,
                    std::string_view key,
                    std::initializer_list<std::string_view> parts) const {
    try {
      const auto made = make_encryption(files_.at(certificate), files_.at(key));
      ADD_FAILURE() << "accepted";
    } catch (const std::invalid_argument& e) {
      const std::string_view said = e.what();
      EXPECT_EQ(said.find("config"), std::string_view::npos) << said;
      for (const auto part : parts) EXPECT_NE(said.find(part), std::string_view::npos) << said;
    }
  }

  rota::test::scratch_folder files_;
};

TEST_F(encryption_of_files, takes_a_certificate_and_its_key) {
  EXPECT_NE(make_encryption(files_.at("certificate"), files_.at("key")), nullptr);
}

TEST_F(encryption_of_files, names_a_file_that_is_no_certificate) {
  expect_error(
      "none", "key", {"--certificate " + files_.at("none") + ": cannot open", "No such file or directory"});
  expect_error("text", "key", {"--certificate " + files_.at("text") + ": no certificate in PEM"});
}

TEST_F(encryption_of_files, names_a_file_that_is_no_private_key) {
  expect_error(
      "certificate", "none", {"--key " + files_.at("none") + ": cannot open", "No such file or directory"});
  expect_error("certificate", "text", {"--key " + files_.at("text") + ": not a private key in PEM"});
}

TEST_F(encryption_of_files, says_why_a_key_does_not_fit) {
  expect_error(
      "certificate",
      "other key",
      {"--key " + files_.at("other key") + ": not the key of the certificate: ", "key values mismatch"});
}

TEST_F(encryption_of_files, refuses_an_encrypted_key) {
  files_.write("encrypted",
               "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"
               "DEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF\n\n"
               "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n-----END EC PRIVATE KEY-----\n");
  expect_error("certificate", "encrypted", {"--key ", "if it is encrypted, it cannot be used"});
}

TEST_F(encryption_of_files, leaves_no_log_and_no_listener_when_it_is_refused) {
  options o;
  o.directory = files_.root();
  o.certificate = files_.at("certificate");
  o.key = files_.at("other key");
  o.access_log = files_.at("log");
  EXPECT_THROW(server(o, 1), std::invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(files_.at("log")));
}

}  // namespace
}  // namespace file_server::testing::encryption_with_tls_test
