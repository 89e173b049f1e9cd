// A build without OpenSSL.
#include "file_server/encryption.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace file_server::testing::encryption_without_tls_test {
namespace {

TEST(encryption, is_an_option_error_in_a_build_without_openssl) {
  try {
    static_cast<void>(make_encryption("a.pem", "b.pem"));
    ADD_FAILURE() << "accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_EQ(std::string(e.what()),
              "--certificate a.pem: this program was built without OpenSSL, and has no HTTPS");
  }
}

}  // namespace
}  // namespace file_server::testing::encryption_without_tls_test
