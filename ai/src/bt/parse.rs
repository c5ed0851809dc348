//! The parser of trees in text form.

use std::collections::HashMap;
use std::mem;

use super::node::{Node, Op};
use crate::action::{LoadError, MindError, error_at_line};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Token<'_> {
    fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }

    fn error(&self, problem: impl Into<String>) -> LoadError {
        error_at_line(self.line, self.column, problem)
    }

    /// The error that the token is unknown.
    fn unknown<'k>(&self, what: &str, known: impl IntoIterator<Item = &'k str>) -> LoadError {
        self.error(MindError::unknown(what, "", self.text, known).to_string())
    }

    fn expected(&self, expected: &'static str) -> LoadError {
        let found =
            if self.text.is_empty() { "the end".into() } else { format!("{:?}", self.text) };
        let hint = match self.text {
            "," | ";" => "; nodes stand side by side, with nothing but blanks between them",
            "/" | "*" => "; a comment goes from # to the end of its line",
            "-" => "; a name is made of letters, digits, _ and .",
            _ => "",
        };
        self.error(format!("expected {expected}, found {found}{hint}"))
    }
}

pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut line, mut column) = (1, 1);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let in_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let len = if first == '#' {
            rest.find('\n').unwrap_or(rest.len())
        } else if in_word(first) {
            rest.find(|c| !in_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (text, after) = rest.split_at(len);
        if !first.is_whitespace() && first != '#' {
            found.push(Token { text, line, column });
        }
        if first == '\n' {
            (line, column) = (line + 1, 1);
        } else {
            column += text.chars().count();
        }
        rest = after;
    }
    found.push(Token { text: "", line, column });
    found
}

/// Whether a word is a keyword, which cannot be a name.
fn is_reserved(word: &str) -> bool {
    Op::of_word(word).is_some() || ["subtree", "use", "all", "one"].contains(&word)
}

/// A named part of the text: where it starts, and whether it is being read.
struct Subtree<'a> {
    name: Token<'a>,
    start: usize,
    is_open: bool,
    /// The number of its nodes and their depth, with uses expanded, once it was read without errors.
    size: Option<(usize, usize)>,
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    subtrees: Vec<Subtree<'a>>,
    by_name: HashMap<&'a str, usize>,
    /// The subtrees that are being read, each used by the previous one.
    open: Vec<usize>,
    uses: Uses,
    depth: usize,
    /// The depth of the deepest node so far.
    deepest: usize,
    count: usize,
}

/// The treatment of uses of subtrees.
#[derive(Clone, Copy, PartialEq)]
enum Uses {
    /// Uses are skipped.
    Pass,
    /// Uses are followed if the subtree was not read before.
    Check,
    /// Uses are followed.
    Follow,
}

pub(super) fn bad_number(text: &str) -> String {
    format!("{text:?} is not a number in range")
}

pub(super) fn defined_twice(subtree: &str) -> String {
    format!("the subtree {subtree:?} is defined twice")
}

/// `way` leads from a subtree to itself.
pub(super) fn contains_itself<'a>(path: impl Iterator<Item = &'a str>) -> String {
    format!("the subtree contains itself: {}", path.collect::<Vec<_>>().join(" > "))
}

impl Node {
    /// Returns the error of too many nodes, or of nodes that are too deep, as a sentence.
    pub(super) fn check_size(depth: usize, count: usize) -> Result<(), String> {
        if depth > Self::DEPTH_MAX {
            return Err(format!("the nodes lie more than {} deep", Self::DEPTH_MAX));
        }
        if count > Self::COUNT_MAX {
            return Err(format!("the tree has more than {} nodes", Self::COUNT_MAX));
        }
        Ok(())
    }

    /// Returns an error if some node is too deep. It uses no recursion: nodes may be nested more deeply
    /// than the stack allows.
    #[cfg(feature = "btcpp")]
    pub(super) fn check_depth(&self) -> Result<(), String> {
        let mut open = vec![(self, 1)];
        while let Some((node, depth)) = open.pop() {
            Self::check_size(depth, 0)?;
            open.extend(node.children.iter().map(|child| (child, depth + 1)));
        }
        Ok(())
    }

    /// The maximum depth of nodes, with subtrees expanded.
    pub const DEPTH_MAX: usize = 64;
    /// The maximum number of nodes of a tree.
    pub const COUNT_MAX: usize = 4096;

    /// Parses a tree from text: any number of `subtree NAME NODE`, and then the root.
    ///
    /// | text | node |
    /// |---|---|
    /// | `attack` | the action of this name |
    /// | `enemy_near?` | the condition of this name |
    /// | `do shout` | the effect of this name |
    /// | `sequence { .. }`, `selector`, `sequence_memory`, `selector_memory`, `sequence_async`, `selector_async`, `sequence_persistent`, `random` | composites |
    /// | `if_else { enemy_near? attack patrol }`, `if_else_memory` | composites of three: a condition, and a branch for success and for failure |
    /// | `parallel_all(1) { .. }` | the number of failures with which it fails when all have ended |
    /// | `parallel(all, one) { .. }` | the numbers of successes and failures that decide: `all`, `one`, or a number |
    /// | `weighted { 3: NODE 0.5: NODE }`, `priority { score: NODE .. }` | composites with a value per child |
    /// | `invert NODE` or `not NODE`, `force_success`, `force_failure`, `until_success`, `until_failure`, `once` | decorators |
    /// | `repeat NODE`, `repeat(3) NODE`, `retry(3)`, `timeout(20)`, `cooldown(20)` | decorators with a number, of repetitions or ticks |
    /// | `guard(safe?) NODE`, `stay_until(hurt?) NODE`, `repeat_while(hungry?) NODE` | decorators with a condition |
    /// | `wait(5)`, `succeed`, `fail` | leaves |
    /// | `use NAME` | the subtree of this name |
    ///
    /// A `#` starts a comment, up to the end of the line.
    ///
    /// ```
    /// use formic_ai::bt::Node;
    /// let guard = Node::parse("
    ///     subtree fight sequence { enemy_near? retry(3) attack }
    ///     selector { use fight patrol }   # what else
    /// ")?;
    /// let text = "selector { sequence { enemy_near? retry(3) attack } patrol }";
    /// assert_eq!(guard.to_string(), text);
    /// let error = Node::parse("subtree fight attack\nuse figth").unwrap_err();
    /// let said = "line 2, column 5: there is no subtree \"figth\"; did you mean \"fight\"?";
    /// assert_eq!(error.to_string(), said);
    /// # Ok::<(), formic_ai::action::LoadError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error, with line and column, if the text is not a valid tree, if a subtree does not
    /// exist, is defined twice or contains itself, if there are more than [`COUNT_MAX`](Self::COUNT_MAX)
    /// nodes, or if some are deeper than [`DEPTH_MAX`](Self::DEPTH_MAX).
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        let mut parser = Parser {
            tokens: tokens(text),
            at: 0,
            subtrees: Vec::new(),
            by_name: HashMap::new(),
            open: Vec::new(),
            uses: Uses::Pass,
            depth: 0,
            deepest: 0,
            count: 0,
        };
        while parser.peek().text == "subtree" {
            parser.subtree()?;
        }
        // Subtrees that are not used must be valid as well.
        parser.uses = Uses::Check;
        for index in 0..parser.subtrees.len() {
            parser.count = 0;
            parser.subtree_used_at(parser.subtrees[index].name)?;
        }
        parser.count = 0;
        parser.uses = Uses::Follow;
        let root = parser.node()?;
        match parser.peek() {
            token if token.text.is_empty() => Ok(root),
            token => Err(token.expected("the end")),
        }
    }
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens[self.at]
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.tokens[self.at];
        // The last token is the end of the text, and is never passed.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn expect(&mut self, text: &'static str) -> Result<(), LoadError> {
        let token = self.next();
        if token.text == text { Ok(()) } else { Err(token.expected(text)) }
    }

    fn name(&mut self) -> Result<Token<'a>, LoadError> {
        let token = self.next();
        if token.is_word() && !is_reserved(token.text) {
            Ok(token)
        } else {
            Err(token.expected("a name"))
        }
    }

    fn condition(&mut self) -> Result<String, LoadError> {
        let name = self.name()?;
        self.expect("?")?;
        Ok(name.text.into())
    }

    fn number<N: std::str::FromStr>(&mut self) -> Result<N, LoadError> {
        let token = self.next();
        if !token.text.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(token.expected("a number"));
        }
        token.text.parse().map_err(|_| token.error(bad_number(token.text)))
    }

    fn weight(&mut self) -> Result<f32, LoadError> {
        let token = self.peek();
        let weight: f32 = self.number()?;
        // A number that is too large is parsed as infinity, which is not what the text says.
        match weight.is_finite() {
            true => Ok(weight),
            false => Err(token.error(bad_number(token.text))),
        }
    }

    fn in_brackets<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, LoadError>,
    ) -> Result<T, LoadError> {
        self.expect("(")?;
        let value = inner(self)?;
        self.expect(")")?;
        Ok(value)
    }

    /// Registers a subtree, and skips its text.
    fn subtree(&mut self) -> Result<(), LoadError> {
        self.expect("subtree")?;
        let name = self.name()?;
        if self.by_name.insert(name.text, self.subtrees.len()).is_some() {
            return Err(name.error(defined_twice(name.text)));
        }
        self.subtrees.push(Subtree { name, start: self.at, is_open: false, size: None });
        // Parsing finds its end; uses inside it are skipped.
        self.node()?;
        self.count = 0;
        Ok(())
    }

    /// The node of the subtree that is used here. If a subtree consists only of the use of another, it is
    /// followed in a loop, since such a chain may have any length.
    fn subtree_used_at(&mut self, mut used: Token<'a>) -> Result<Node, LoadError> {
        let (back, open) = (self.at, self.open.len());
        loop {
            let Some(&index) = self.by_name.get(used.text) else {
                let known = self.subtrees.iter().map(|subtree| subtree.name.text);
                return Err(used.unknown("subtree", known));
            };
            if self.subtrees[index].is_open {
                let from = self.open.iter().position(|&open| open == index).unwrap_or(0);
                let path = self.open[from..].iter().chain([&index]);
                let path = path.map(|&open| self.subtrees[open].name.text);
                return Err(used.error(contains_itself(path)));
            }
            self.subtrees[index].is_open = true;
            self.open.push(index);
            self.at = self.subtrees[index].start;
            if self.peek().text != "use" {
                break;
            }
            self.next();
            used = self.name()?;
        }
        let (start, count_before) = (self.at, self.count);
        let deepest_before = mem::replace(&mut self.deepest, self.depth);
        let node = match self.size_at() {
            Some((count, depth)) => {
                (self.count, self.deepest) = (self.count + count, self.depth + depth);
                Node::succeed()
            }
            None => self.node()?,
        };
        let size = (self.count - count_before, self.deepest - self.depth);
        self.deepest = self.deepest.max(deepest_before);
        // Next time the first one leads directly to the last one.
        for index in self.open.drain(open..) {
            let subtree = &mut self.subtrees[index];
            (subtree.is_open, subtree.start, subtree.size) = (false, start, Some(size));
        }
        self.at = back;
        Ok(node)
    }

    /// The size of the last open subtree if it is all that is needed: the subtree was read before, and
    /// fits. If it does not fit, reading it again finds the node that is one too many.
    fn size_at(&self) -> Option<(usize, usize)> {
        let last = *self.open.last()?;
        let (count, depth) = self.subtrees[last].size.filter(|_| self.uses == Uses::Check)?;
        let fits = self.count + count <= Node::COUNT_MAX && self.depth + depth <= Node::DEPTH_MAX;
        fits.then_some((count, depth))
    }

    fn node(&mut self) -> Result<Node, LoadError> {
        // The nodes of the subtree count, and their depth, but not the use itself.
        if self.peek().text == "use" {
            self.next();
            let name = self.name()?;
            return match self.uses {
                Uses::Pass => Ok(Node::succeed()),
                Uses::Check | Uses::Follow => self.subtree_used_at(name),
            };
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        self.count += 1;
        let token = self.peek();
        Node::check_size(self.depth, self.count).map_err(|problem| token.error(problem))?;
        let node = self.shallow_node()?;
        self.depth -= 1;
        Ok(node)
    }

    /// Parses a node whose depth and number have been checked.
    fn shallow_node(&mut self) -> Result<Node, LoadError> {
        let token = self.next();
        let Some(op) = Op::of_word(token.text) else {
            if !token.is_word() || is_reserved(token.text) {
                return Err(token.expected("a node"));
            }
            return match self.peek().text {
                "?" => {
                    self.next();
                    Ok(Node::condition(token.text))
                }
                "{" => Err(token.unknown("composite", Op::composites())),
                _ => Ok(Node::action(token.text)),
            };
        };
        let mut node = Node::new(op);
        let mut counts = [None; 2];
        match op {
            Op::Effect => node.names.push(self.name()?.text.into()),
            _ if op.has_condition() => node.names.push(self.in_brackets(Self::condition)?),
            Op::Parallel => {
                counts = self.in_brackets(|parser| {
                    let successes = parser.how_many()?;
                    parser.expect(",")?;
                    Ok([successes, parser.how_many()?])
                })?;
            }
            Op::Repeat if self.peek().text != "(" => {}
            _ if op.is_counted() => node.numbers[0] = self.in_brackets(Self::number)?,
            _ => {}
        }
        if op.is_composite() {
            self.children(&mut node)?;
        } else if op.is_decorator() {
            node.children.push(self.node()?);
        }
        if op == Op::Parallel {
            let all = u32::try_from(node.children.len()).unwrap_or(u32::MAX);
            node.numbers = counts.map(|count| count.unwrap_or(all));
        }
        Ok(node)
    }

    /// Parses the children of a composite, each with the weight or score before it.
    fn children(&mut self, node: &mut Node) -> Result<(), LoadError> {
        self.expect("{")?;
        while self.peek().text != "}" {
            if self.peek().text.is_empty() {
                return Err(self.peek().expected("a node or \"}\""));
            }
            match node.op {
                Op::Weighted => node.weights.push(self.weight()?),
                Op::Priority => node.names.push(self.name()?.text.into()),
                _ => {}
            }
            if matches!(node.op, Op::Weighted | Op::Priority) {
                self.expect(":")?;
            }
            let child = self.node()?;
            node.children.push(child);
        }
        if node.children.is_empty() {
            return Err(self.peek().expected("a node"));
        }
        self.next();
        Ok(())
    }

    /// Parses a count; `None` for all.
    fn how_many(&mut self) -> Result<Option<u32>, LoadError> {
        match self.peek().text {
            "all" => {
                self.next();
                Ok(None)
            }
            "one" => {
                self.next();
                Ok(Some(1))
            }
            _ => self.number().map(Some),
        }
    }
}
