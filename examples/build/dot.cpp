#include "build/dot.hpp"

#include <set>
#include <string_view>

namespace build {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

const char* style_of(const statement& s, std::size_t input) {
  if (input < s.explicit_inputs) return "";
  return input < s.needed_inputs ? " [style=dashed]" : " [style=dotted]";
}

}  // namespace

std::string dot(const manifest& m, const graph& g, const std::vector<std::size_t>& statements) {
  std::string out = "digraph build {\n  rankdir=LR;\n  node [fontsize=10];\n";
  std::set<std::size_t> files;
  for (const std::size_t index : statements) {
    const statement& s = m.statements[index];
    const edge& e = g.edges[index];
    const std::string box = "  s" + std::to_string(index);
    out += box + " [shape=box, label=" + quoted(s.rule) + "];\n";
    for (std::size_t i = 0; i < e.inputs.size(); ++i)
      out += "  f" + std::to_string(e.inputs[i]) + " ->" + box.substr(1) + style_of(s, i) + ";\n";
    for (const std::size_t file : e.outputs) out += box + " -> f" + std::to_string(file) + ";\n";
    files.insert(e.inputs.begin(), e.inputs.end());
    files.insert(e.outputs.begin(), e.outputs.end());
  }
  for (const std::size_t file : files)
    out += "  f" + std::to_string(file) + " [label=" + quoted(g.files[file].path) + "];\n";
  return out + "}\n";
}

}  // namespace build
