// Text as it must be written in HTML and in links.
#pragma once

#include <string>
#include <string_view>

namespace file_server {

/// Appends `text`; nothing in it ends the text or an attribute in quotes.
void add_escaped(std::string& out, std::string_view text);

/// Appends one segment of a path for a link: every byte but letters, digits and -._~ as %XX.
void add_percent_encoded(std::string& out, std::string_view segment);

}  // namespace file_server
