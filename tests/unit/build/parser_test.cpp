// What the parser accepts as a Ninja file, and what it refuses.
#include "build/parser.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace parser_test {
namespace {

using build::complaint;
using build::manifest;
using build::parse;
using build::statement;
using paths = std::vector<std::string>;

manifest good(std::string_view content) {
  auto read = parse(content);
  EXPECT_TRUE(read.has_value()) << read.error().line << ": " << read.error().text;
  return read.has_value() ? *read : manifest();
}

void refuses(std::string_view content, unsigned line, const std::string& why) {
  const auto read = parse(content);
  ASSERT_FALSE(read.has_value()) << content;
  EXPECT_EQ(read.error().line, line) << content;
  EXPECT_NE(read.error().text.find(why), std::string::npos) << read.error().text;
}

TEST(build_parser, reads_a_rule_and_a_statement) {
  const manifest m = good(
      "# a comment\n"
      "flags = -O2\n"
      "rule cc\n"
      "  command = cc $flags -c $in -o $out\n"
      "  # another\n"
      "\n"
      "  description = CC ${out}\n"
      "build a.o: cc a.c | a.h || generated\n"
      "default a.o\n");
  ASSERT_EQ(m.statements.size(), 1U);
  const statement& s = m.statements[0];
  EXPECT_EQ(s.command, "cc -O2 -c a.c -o a.o");
  EXPECT_EQ(s.description, "CC a.o");
  EXPECT_EQ(s.inputs, (paths{"a.c", "a.h", "generated"}));
  EXPECT_EQ(s.explicit_inputs, 1U);
  EXPECT_EQ(s.needed_inputs, 2U);
  EXPECT_EQ(s.line, 8U);
  ASSERT_EQ(m.defaults.size(), 1U);
  EXPECT_EQ(m.defaults[0].path, "a.o");
}

TEST(build_parser, reads_several_outputs_and_order_only_inputs) {
  const manifest m = good("rule r\n command = x $out\nbuild a b | c d: r || e\n");
  EXPECT_EQ(m.statements[0].outputs, (paths{"a", "b", "c", "d"}));
  EXPECT_EQ(m.statements[0].explicit_outputs, 2U);
  EXPECT_EQ(m.statements[0].command, "x a b");
  EXPECT_EQ(m.statements[0].needed_inputs, 0U);
  EXPECT_EQ(m.statements[0].inputs, paths{"e"});
}

TEST(build_parser, reads_escapes_and_continued_lines) {
  const manifest m = good(
      "v = a$$b$:c$ d $\n      e\n"
      "rule r\n command = $v $in\n"
      "build o$ ut$:1: r $\n    in$ 1 $\n    it's$$\n");
  EXPECT_EQ(m.statements[0].outputs, paths{"o ut:1"});
  EXPECT_EQ(m.statements[0].command, R"(a$b:c d e 'in 1' 'it'\''s$')");
}

TEST(build_parser, lines_may_end_with_crlf) {
  EXPECT_EQ(good("rule r\r\n  command = x $\r\n  y\r\nbuild a: r\r\n").statements[0].command, "x y");
}

TEST(build_parser, the_last_line_needs_no_end) {
  EXPECT_EQ(good("rule r\n command = x\nbuild a: r").statements[0].command, "x");
}

TEST(build_parser, variables_expand_early_at_file_scope_and_late_in_rules) {
  const manifest m = good(
      "a = 1\nb = $a\na = 2\n"
      "rule r\n  command = $a $b $c $nothing$description\n  description = d $a\n"
      "build x$a: r\n  c = $a\n"
      "build y: r\n  a = own\n"
      "a = 3\n");
  EXPECT_EQ(m.statements[0].command, "3 1 2 d 3");
  EXPECT_EQ(m.statements[0].outputs, paths{"x2"});
  EXPECT_EQ(m.statements[1].command, "own 1  d own");
}

TEST(build_parser, a_statement_may_have_its_own_pool_and_description) {
  const manifest m = good(
      "pool one\n  depth = 1\npool two\n  depth = 2\n"
      "rule r\n  command = x\n  pool = one\n"
      "build a: r\nbuild b: r\n  pool = two\n  description = other\nbuild c: r\n  pool =\n");
  EXPECT_EQ(m.pools[0].depth, 1U);
  EXPECT_EQ(m.statements[0].pool, "one");
  EXPECT_EQ(m.statements[1].pool, "two");
  EXPECT_EQ(m.statements[1].description, "other");
  EXPECT_EQ(m.statements[2].pool, "");
}

TEST(build_parser, paths_are_tidied) {
  const manifest m = good("build ./a//b/../c: phony ../x/./y z/\n");
  EXPECT_TRUE(m.statements[0].is_phony);
  EXPECT_EQ(m.statements[0].outputs, paths{"a/c"});
  EXPECT_EQ(m.statements[0].inputs, (paths{"../x/y", "z"}));
}

TEST(build_parser, words_of_the_language_may_be_variables) {
  EXPECT_EQ(good("rule = 1\nbuild = 2\nrule r\n command = $rule$build\nbuild a: r\n").statements[0].command,
            "12");
}

TEST(build_parser, refuses_what_it_does_not_know_and_says_where) {
  refuses("include other.ninja\n", 1, "'include' is not supported");
  refuses("\nsubninja other.ninja\n", 2, "'subninja' is not supported");
  refuses("rule r\n  command = x\n  depfile = $out.d\n", 3, "'depfile' in a rule is not supported");
  refuses("rule r\n  command = x\n  restat = 1\n", 3, "'restat'");
  refuses("rule r\n command = x\nbuild a: r\n  dyndep = d\n", 4, "'dyndep' is not supported");
  refuses("build a: phony b |@ c\n", 1, "validations");
  refuses("build a: phony b || d |@ c\n", 1, "validations");
}

TEST(build_parser, refuses_inconsistent_rules_and_pools) {
  refuses("rule r\n  command = x\nbuild a: s\n", 3, "unknown rule 's'");
  refuses("rule r\n  command = x\n  pool = p\n\nbuild a: r\n", 5, "unknown pool 'p'");
  refuses("rule r\n  command = x\nrule r\n  command = y\n", 3, "the first is in line 1");
  refuses("rule r\n  description = x\n", 1, "has no command");
  refuses("rule phony\n  command = x\n", 1, "rule of its own");
  refuses("pool p\n", 1, "no depth");
  refuses("pool p\n  depth = -1\n", 2, "'-1' is no depth");
  refuses("pool p\n  width = 1\n", 2, "no 'width'");
  refuses("pool p\n  depth = 1\npool p\n  depth = 1\n", 3, "the first is in line 1");
  refuses("rule r\n  command = $description\n  description = $command\nbuild a: r\n", 4, "refers to itself");
}

TEST(build_parser, refuses_bad_lines_and_says_where) {
  refuses("what\n", 1, "expected '=' after 'what'");
  refuses("a = 1\n  b = 2\n", 2, "belongs to no statement");
  refuses("rule r\n\tcommand = x\n", 2, "a tab");
  refuses("a = ${b\n", 1, "without '}'");
  refuses("a = $%\n", 1, "bad '$' escape");
  refuses("a = 1\nb = 2 $", 2, "'$' at the end of the file");
  refuses("build : phony\n", 1, "path of an output");
  refuses("build a phony\n", 1, "expected ':'");
  refuses("build a: phony b : c\n", 1, "expected the end of the line, not ':'");
  refuses("build $nothing: phony\n", 1, "an empty path");
  refuses("default\n", 1, "path of a target");
  refuses(std::string_view("a = \0\n", 6), 1, "a zero byte");
  refuses("\x01\n", 1, "expected a statement");
}

/// Checks the line of an error, if there is one: from 1 to the line after the last newline.
void ends_in_some_way(const std::string& content) {
  const auto read = parse(content);
  if (read.has_value()) return;
  EXPECT_GE(read.error().line, 1U);
  EXPECT_LE(read.error().line, 1U + static_cast<unsigned>(std::count(content.begin(), content.end(), '\n')));
  EXPECT_FALSE(read.error().text.empty());
}

TEST(build_parser, any_bytes_end_in_a_manifest_or_a_complaint) {
  std::mt19937 dice(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string content(dice() % 64, ' ');
    for (char& c : content) c = static_cast<char>(dice());
    ends_in_some_way(content);
  }
}

TEST(build_parser, any_words_of_the_language_end_in_a_manifest_or_a_complaint) {
  const std::vector<std::string> words{
      "rule",  "build",   "default", "pool", "depth", "command",
      "phony", "include", " ",       "  ",   "\n",    "\n  ",
      "\r\n",  "$\n",     "$",       "$$",   "$:",    "${",
      "}",     "a",       "b",       "=",    " = ",   ":",
      ": ",    "|",       "||",      "|@",   "#",     "1",
      "\t",    "$in",     "${out}",  "/",    "..",    "rule r\n command = x $in\n"};
  std::mt19937 dice(2);
  int read = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::string content;
    for (auto left = dice() % 24; left > 0; --left) content += words[dice() % words.size()];
    ends_in_some_way(content);
    if (parse(content).has_value()) ++read;
  }
  EXPECT_GT(read, 0);
}

TEST(build_parser, a_good_file_with_a_byte_changed_ends_in_a_manifest_or_a_complaint) {
  const std::string whole =
      "cc = g++\npool p\n  depth = 2\nrule cc\n  command = $cc -c $in -o ${out} $\n    -g\n  pool = p\n"
      "build a.o b.o | c: cc a$ b.c | d || e\n  cc = h\nbuild all: phony a.o\ndefault all\n";
  std::mt19937 dice(3);
  for (std::size_t place = 0; place < whole.size(); ++place) {
    ends_in_some_way(whole.substr(0, place));
    for (int round = 0; round < 40; ++round) {
      std::string content = whole;
      content[place] = static_cast<char>(dice());
      ends_in_some_way(content);
    }
  }
}

}  // namespace
}  // namespace parser_test
