// Escapes text for HTML and for links.
#pragma once

#include <string>
#include <string_view>

namespace file_server {

/// Appends `text`, escaped so that it cannot end the text or a quoted attribute.
void add_escaped(std::string& out, std::string_view text);

/// Appends one segment of a path for a link: every byte except letters, digits and -._~ becomes %XX.
void add_percent_encoded(std::string& out, std::string_view segment);

}  // namespace file_server
