//! Import of trees from XML.

use core::time::Duration;
use std::collections::{HashMap, HashSet};
use std::fmt::Display;

use formic_ecs::QueryData;
use roxmltree::{Attribute, Document, Node as Element};

use super::table::{
    LOOPS, NODES, check_tick, is_keep_running, name_of_leaf, no_counterpart, parallel_differs,
    why_refused,
};
use crate::action::{LoadError, MindError, error_at_line};
use crate::bt::node::{Node, Op};
use crate::bt::parse::{bad_number, contains_itself, defined_twice};
use crate::bt::tree::Tree;
use crate::library::Library;

impl<Q: QueryData> Tree<Q> {
    /// Makes a tree from the XML of BehaviorTree.CPP; see [`Node::parse_btcpp`].
    ///
    /// # Errors
    /// Returns an error if the text is not a valid tree, if a node has no counterpart, if the tree is not
    /// valid with this library, or if a tick is shorter than a millisecond. The position of an error
    /// about a name is where the text has the name in quotes.
    pub fn parse_btcpp(
        text: &str,
        library: &Library<Q>,
        tick: Duration,
    ) -> Result<Self, LoadError> {
        let root = Node::parse_btcpp(text, library, tick)?;
        Self::new(&root, library).map_err(|error| MindError { field: "", ..error }.in_text(text))
    }
}

impl Node {
    /// Reads the main tree of an XML file of BehaviorTree.CPP, version 4. Times are rounded up to whole
    /// ticks of this length. A node without an equivalent is an error; `docs/ai.md` has the table.
    ///
    /// The main tree is the one that `main_tree_to_execute` names, or else the only tree that no other
    /// uses.
    ///
    /// A leaf is the action, condition or effect of the library that has its name. Ports are part of the
    /// name, sorted and written as in the file; ports of subtrees are replaced by their values in the
    /// main tree. The code of a script is part of the name as well.
    ///
    /// ```
    /// use formic_ai::bt::{Library, Node};
    /// use formic_ai::prelude::*;
    /// # use core::time::Duration;
    /// # #[derive(Component, Clone)] struct Move;
    /// let actions = ActionSet::new().action("MoveBase goal=\"{home}\"", Move);
    /// let library = Library::<()>::new(&actions).condition("BatteryOK", |()| true);
    /// let xml = r#"
    ///     <root BTCPP_format="4" main_tree_to_execute="Main">
    ///         <BehaviorTree ID="Main"><SubTree ID="Go" target="{home}"/></BehaviorTree>
    ///         <BehaviorTree ID="Go">
    ///             <ReactiveSequence><BatteryOK/><MoveBase goal="{target}"/></ReactiveSequence>
    ///         </BehaviorTree>
    ///     </root>"#;
    /// let tick = Duration::from_millis(50);
    /// let node = Node::parse_btcpp(xml, &library, tick)?;
    /// assert_eq!(
    ///     node,
    ///     Node::sequence([Node::condition("BatteryOK"), Node::action("MoveBase goal=\"{home}\"")])
    /// );
    /// let exported = node.to_btcpp(tick)?;
    /// assert_eq!(Node::parse_btcpp(&exported, &library, tick)?, node);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the text is not a valid tree, if a node has no counterpart, if a leaf is not
    /// in the library, or if a tick is shorter than a millisecond.
    pub fn parse_btcpp<Q: QueryData>(
        text: &str,
        library: &Library<Q>,
        tick: Duration,
    ) -> Result<Self, LoadError> {
        check_tick(tick).map_err(|error| error_at_line(1, 1, error.to_string()))?;
        let document = Document::parse(text).map_err(|error| {
            let at = error.pos();
            error_at_line(
                at.row as usize,
                at.col as usize,
                format!("this is not valid XML: {error}"),
            )
        })?;
        let mut import = Import {
            document: &document,
            leaves: ["action", "condition", "effect"].map(|what| library.known(what).collect()),
            tick,
            trees: HashMap::new(),
            models: HashMap::new(),
            open: Vec::new(),
            depth: 0,
            count: 0,
        };
        import.main_tree()
    }
}

/// A tree that is being read.
struct OpenTree<'a> {
    id: &'a str,
    /// The values of its ports in the main tree.
    ports: HashMap<&'a str, String>,
    /// `_autoremap`: other ports are those of the tree that uses it.
    remaps_all: bool,
}

struct Import<'a, 'x> {
    document: &'a Document<'x>,
    /// The actions, conditions and effects of the library.
    leaves: [Vec<&'a str>; 3],
    tick: Duration,
    trees: HashMap<&'a str, Element<'a, 'x>>,
    models: HashMap<&'a str, Element<'a, 'x>>,
    /// The trees that are being read, each used by the previous one.
    open: Vec<OpenTree<'a>>,
    depth: usize,
    count: usize,
}

type Parsed<T> = Result<T, LoadError>;

impl<'a, 'x> Import<'a, 'x> {
    fn error(&self, at: Element<'_, '_>, problem: impl Into<String>) -> LoadError {
        let at = self.document.text_pos_at(at.range().start);
        error_at_line(at.row as usize, at.col as usize, problem)
    }

    fn expected(
        &self,
        at: Element<'_, '_>,
        expected: &'static str,
        found: impl Display,
    ) -> LoadError {
        self.error(at, format!("expected {expected}, found {found}"))
    }

    fn refused(&self, at: Element<'_, '_>, node: &str, why: &'static str) -> LoadError {
        self.error(at, no_counterpart(node, why).to_string())
    }

    fn unknown_name<'k>(
        &self,
        at: Element<'_, '_>,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> LoadError {
        self.error(at, MindError::unknown(what, "", name, known).to_string())
    }

    fn id(&self, element: Element<'a, 'x>) -> Parsed<&'a str> {
        element.attribute("ID").ok_or_else(|| self.expected(element, "the attribute ID", "none"))
    }

    fn main_tree(&mut self) -> Parsed<Node> {
        let root = self.document.root_element();
        if root.tag_name().name() != "root" || root.attribute("BTCPP_format") != Some("4") {
            return Err(self.expected(root, "<root BTCPP_format=\"4\">", root.tag_name().name()));
        }
        let mut first = Vec::new();
        for element in elements(root) {
            match element.tag_name().name() {
                "BehaviorTree" => {
                    let id = element.attribute("ID").unwrap_or_default();
                    if self.trees.insert(id, element).is_some() {
                        return Err(self.error(element, defined_twice(id)));
                    }
                    first.push(element);
                }
                "TreeNodesModel" => {
                    for model in elements(element) {
                        self.models.insert(self.id(model)?, model);
                    }
                }
                other => return Err(self.unknown(element, other)),
            }
        }
        let main = match root.attribute("main_tree_to_execute") {
            Some(id) => self.tree(root, id)?,
            None => {
                let uses = root.descendants().filter(|it| it.has_tag_name("SubTree"));
                let used: HashSet<&str> = uses.filter_map(|it| it.attribute("ID")).collect();
                let is_used =
                    |it: &Element<'_, '_>| it.attribute("ID").is_some_and(|id| used.contains(id));
                let mut unused = first.iter().filter(|it| first.len() == 1 || !is_used(it));
                let (Some(&only), None) = (unused.next(), unused.next()) else {
                    let found = format!("{} trees", first.len());
                    return Err(self.expected(root, "main_tree_to_execute", found));
                };
                only
            }
        };
        self.tree_root(main, HashMap::new(), false)
    }

    fn unknown(&self, at: Element<'_, '_>, id: &str) -> LoadError {
        match why_refused(id) {
            Some(why) => self.refused(at, id, why),
            None => {
                let nodes = NODES.iter().map(|&(node, ..)| node);
                let leaves = self.leaves.iter().flatten().copied();
                self.unknown_name(at, "node", id, leaves.chain(nodes))
            }
        }
    }

    fn tree(&self, at: Element<'_, '_>, id: &str) -> Parsed<Element<'a, 'x>> {
        self.trees.get(id).copied().ok_or_else(|| {
            let mut known: Vec<&str> = self.trees.keys().copied().collect();
            known.sort_unstable();
            self.unknown_name(at, "subtree", id, known)
        })
    }

    fn tree_root(
        &mut self,
        tree: Element<'a, 'x>,
        ports: HashMap<&'a str, String>,
        remaps_all: bool,
    ) -> Parsed<Node> {
        let id = tree.attribute("ID").unwrap_or_default();
        self.attributes(tree, &["ID"])?;
        if let Some(from) = self.open.iter().position(|open| open.id == id) {
            let path = self.open[from..].iter().map(|open| open.id).chain([id]);
            return Err(self.error(tree, contains_itself(path)));
        }
        if self.open.len() > Node::DEPTH_MAX {
            let problem = format!("more than {} subtrees lie in each other", Node::DEPTH_MAX);
            return Err(self.error(tree, problem));
        }
        self.open.push(OpenTree { id, ports, remaps_all });
        let [root] = self.children::<1>(tree, "one node")?;
        self.open.pop();
        Ok(root)
    }

    /// The attributes of an element, sorted, without those that have no effect. Attributes other than
    /// `known` are an error.
    fn attributes(&self, at: Element<'a, 'x>, known: &[&str]) -> Parsed<Vec<Attribute<'a, 'x>>> {
        let mut found = Vec::new();
        for attribute in at.attributes() {
            let name = attribute.name();
            if ["name", "_description", "_uid", "_fullpath"].contains(&name) {
                continue;
            }
            if name.starts_with('_') && name != "_autoremap" {
                let why = "conditions and scripts beside a node are not run: write nodes";
                return Err(self.refused(at, name, why));
            }
            if !known.is_empty() && !known.contains(&name) {
                return Err(self.expected(at, "another attribute", name));
            }
            found.push(attribute);
        }
        found.sort_by_key(Attribute::name);
        Ok(found)
    }

    fn all_children(&mut self, at: Element<'a, 'x>) -> Parsed<Vec<Node>> {
        elements(at).map(|child| self.node(child)).collect()
    }

    fn children<const N: usize>(
        &mut self,
        at: Element<'a, 'x>,
        expected: &'static str,
    ) -> Parsed<[Node; N]> {
        let children = self.all_children(at)?;
        let found = format!("{} nodes", children.len());
        children.try_into().map_err(|_| self.expected(at, expected, found))
    }

    fn node(&mut self, at: Element<'a, 'x>) -> Parsed<Node> {
        let tag = at.tag_name().name();
        // A subtree is not a node; its root is.
        if tag == "SubTree" {
            return self.subtree(at);
        }
        self.depth += 1;
        self.count += 1;
        Node::check_size(self.depth, self.count).map_err(|problem| self.error(at, problem))?;
        let node = match tag {
            "Action" | "Condition" | "Control" | "Decorator" => {
                let id = self.id(at)?;
                self.named(at, id, Some(tag))?
            }
            id => self.named(at, id, None)?,
        };
        self.depth -= 1;
        Ok(node)
    }

    fn subtree(&mut self, at: Element<'a, 'x>) -> Parsed<Node> {
        let id = self.id(at)?;
        let tree = self.tree(at, id)?;
        let mut ports = HashMap::new();
        let attributes = self.attributes(at, &[])?;
        let given = attributes.iter().map(|port| (port.name(), port.value()));
        let model = self.models.get(id).filter(|model| model.has_tag_name("SubTree"));
        let defaults = model.into_iter().flat_map(|model| elements(*model));
        let defaults = defaults.filter_map(|it| it.attribute("name").zip(it.attribute("default")));
        for (port, value) in defaults.chain(given) {
            if port != "ID" && port != "_autoremap" {
                ports.insert(port, self.resolve(at, port, value)?);
            }
        }
        let remaps_all = self.is_set(at, "_autoremap", false)?;
        self.tree_root(tree, ports, remaps_all)
    }

    /// The value of a port in the main tree.
    fn resolve(&self, at: Element<'_, '_>, port: &str, value: &str) -> Parsed<String> {
        let entry = value.trim().strip_prefix('{').and_then(|value| value.strip_suffix('}'));
        let Some(entry) = entry.map(|entry| if entry == "=" { port } else { entry }) else {
            return Ok(value.into());
        };
        let subtrees = self.open.iter().skip(1).rev().filter(|_| !entry.starts_with('@'));
        for subtree in subtrees {
            if let Some(value) = subtree.ports.get(entry) {
                return Ok(value.clone());
            }
            if !subtree.remaps_all || entry.starts_with('_') {
                let why = "each use of a subtree has its own: make it a port";
                return Err(self.refused(at, entry, why));
            }
        }
        Ok(format!("{{{entry}}}"))
    }

    fn is_set(&self, at: Element<'_, '_>, port: &str, default: bool) -> Parsed<bool> {
        match at.attribute(port) {
            None => Ok(default),
            Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(other) => Err(self.expected(at, "true or false", other)),
        }
    }

    /// A number of repetitions or children in a port, or its default.
    fn number(&self, at: Element<'_, '_>, port: &'static str, default: &str) -> Parsed<i64> {
        let value = at.attribute(port).unwrap_or(default);
        if value.is_empty() {
            return Err(self.expected(at, port, "none"));
        }
        let is_number = |number: &i64| (-1..=i64::from(u32::MAX)).contains(number);
        let number = value.trim().parse().ok().filter(is_number);
        number.ok_or_else(|| self.error(at, bad_number(value)))
    }

    /// A number from 1, or `None` for -1, which is no limit.
    fn times(&self, at: Element<'_, '_>, port: &'static str) -> Parsed<Option<u32>> {
        match self.number(at, port, "")? {
            -1 => Ok(None),
            0 => Err(self.error(at, bad_number("0"))),
            times => Ok(u32::try_from(times).ok()),
        }
    }

    fn ticks(&self, at: Element<'_, '_>, port: &'static str) -> Parsed<u32> {
        let tick = self.tick.as_nanos();
        let bad = || {
            let value = at.attribute(port).unwrap_or_default();
            self.error(at, bad_number(value))
        };
        let length = u128::try_from(self.number(at, port, "")?).map_err(|_| bad())? * 1_000_000;
        u32::try_from(length.div_ceil(tick)).map_err(|_| bad())
    }

    /// Reads a node that is not a subtree.
    fn named(&mut self, at: Element<'a, 'x>, id: &'a str, kind: Option<&str>) -> Parsed<Node> {
        let Some((_, ports, op)) = NODES.iter().find(|(other, ..)| *other == id) else {
            return self.leaf(at, id, kind);
        };
        let known: Vec<&str> = ports.iter().copied().chain(["ID"]).collect();
        self.attributes(at, &known)?;
        let Some(op) = *op else {
            return match id {
                "TryCatch" => self.try_catch(at),
                "KeepRunningUntilFailure" => Ok(self.child(at)?.until_failure().invert()),
                "Delay" => {
                    let wait = Node::wait(self.ticks(at, "delay_msec")?);
                    Ok(Node::sequence_memory([wait, self.child(at)?]))
                }
                "Precondition" => self.precondition(at),
                _ if LOOPS.contains(&id) => self.queue_loop(at, id),
                _ => self.switch(at, id),
            };
        };
        let mut node = Node::new(op);
        match op {
            Op::Parallel | Op::ParallelAll => return self.parallel(at, id, op),
            Op::IfElse | Op::IfElseMemory => return self.if_else(at, id, op),
            Op::Repeat => node.numbers[0] = self.times(at, "num_cycles")?.unwrap_or(0),
            Op::Retry => match self.times(at, "num_attempts")? {
                Some(tries) => node.numbers[0] = tries,
                None => node.op = Op::UntilSuccess,
            },
            Op::Timeout => match self.ticks(at, "msec")? {
                0 => return self.child(at),
                ticks => node.numbers[0] = ticks,
            },
            Op::Wait => node.numbers[0] = self.ticks(at, "msec")?,
            Op::Once if self.is_set(at, "then_skip", true)? => {
                return Err(self.refused(at, id, "it skips: say then_skip=\"false\""));
            }
            _ => {}
        }
        if op.is_composite() {
            node.children = self.some_children(at)?;
        } else if op.is_decorator() {
            node.children = vec![self.child(at)?];
        } else {
            let [] = self.children(at, "no children")?;
        }
        // Here this is success.
        let is_success = op == Op::Invert && is_keep_running(&node.children[0]);
        if is_success {
            return Ok(node.children[0].children.swap_remove(0));
        }
        Ok(node)
    }

    fn child(&mut self, at: Element<'a, 'x>) -> Parsed<Node> {
        let [child] = self.children(at, "one child")?;
        Ok(child)
    }

    /// With two children it fails if the first one does.
    fn if_else(&mut self, at: Element<'a, 'x>, id: &str, op: Op) -> Parsed<Node> {
        let children = self.all_children(at)?;
        let of_two = if op == Op::IfElse { Op::Sequence } else { Op::SequenceMemory };
        let mut node = Node::new(match children.len() {
            2 => of_two,
            3 => op,
            count => {
                let found = format!("{count} nodes");
                return Err(self.expected(at, "two or three children", found));
            }
        });
        if op == Op::IfElse && !takes_no_time(&children[0]) {
            let why = "its first child takes time, and is not begun again there each tick";
            return Err(self.refused(at, id, why));
        }
        node.children = children;
        Ok(node)
    }

    fn try_catch(&mut self, at: Element<'a, 'x>) -> Parsed<Node> {
        if self.is_set(at, "catch_on_halt", false)? {
            return Err(self.refused(at, "catch_on_halt", "no node is asked when it is halted"));
        }
        let mut children = self.all_children(at)?;
        match children.pop().filter(|_| !children.is_empty()) {
            Some(catch) => {
                let attempt = Node::sequence_memory(children);
                Ok(Node::selector_memory([attempt, catch.force_failure()]))
            }
            None => Err(self.expected(at, "two children or more", "less")),
        }
    }

    fn precondition(&mut self, at: Element<'a, 'x>) -> Parsed<Node> {
        let code = at.attribute("if").ok_or_else(|| self.expected(at, "if", "none"))?;
        let ask =
            self.leaf_with_ports(at, "ScriptCondition", &[("code", code)], Some("Condition"))?;
        let child = self.child(at)?;
        match at.attribute("else").unwrap_or("FAILURE") {
            "FAILURE" => Ok(Node::sequence_memory([ask, child])),
            "SUCCESS" => Ok(Node::if_else_memory(ask, child, Node::succeed())),
            "RUNNING" => Ok(Node::sequence_memory([ask.until_success(), child])),
            _ => Err(self.refused(at, "else", "no node is skipped")),
        }
    }

    /// The library's condition says whether the queue has a value, and its effect takes one out.
    fn queue_loop(&mut self, at: Element<'a, 'x>, id: &'a str) -> Parsed<Node> {
        let queue = at.attribute("queue").unwrap_or_default();
        if !queue.trim().starts_with('{') {
            let why = "a list in a port begins anew each time: give an entry with the queue";
            return Err(self.refused(at, id, why));
        }
        let value = at.attribute("value").map(|value| ("value", value));
        let ports: Vec<_> = [("queue", queue)].into_iter().chain(value).collect();
        let has_next =
            self.leaf_with_ports(at, id, &ports[..1], Some("Condition"))?.names[0].clone();
        let next = self.leaf_with_ports(at, id, &ports, Some("Effect"))?;
        let looped = Node::sequence_memory([next, self.child(at)?]).repeat_while(has_next);
        match at.attribute("if_empty").unwrap_or("SUCCESS") {
            "SUCCESS" => Ok(looped),
            "FAILURE" => Ok(Node::sequence_memory([looped, Node::fail()])),
            _ => Err(self.refused(at, "if_empty", "no node is skipped")),
        }
    }

    fn some_children(&mut self, at: Element<'a, 'x>) -> Parsed<Vec<Node>> {
        let children = self.all_children(at)?;
        if children.is_empty() {
            return Err(self.expected(at, "children", "none"));
        }
        Ok(children)
    }

    fn parallel(&mut self, at: Element<'a, 'x>, id: &str, op: Op) -> Parsed<Node> {
        let mut node = Node::new(op);
        node.children = self.some_children(at)?;
        let count = node.children.len() as u64;
        let ports: &[_] = match op {
            Op::Parallel => &[("success_count", "-1"), ("failure_count", "1")],
            _ => &[("max_failures", "1")],
        };
        for (place, (port, default)) in ports.iter().enumerate() {
            let number = match self.number(at, port, default)? {
                -1 => u32::try_from(count).unwrap_or(u32::MAX),
                number => u32::try_from(number).unwrap_or_default(),
            };
            if !(1..=count).contains(&u64::from(number)) {
                return Err(self.expected(at, "a count of its children", number));
            }
            node.numbers[place] = number;
        }
        match parallel_differs(&node) {
            Some(why) => Err(self.refused(at, id, why)),
            None => Ok(node),
        }
    }

    fn switch(&mut self, at: Element<'a, 'x>, id: &str) -> Parsed<Node> {
        let mut children = self.some_children(at)?;
        let cases = usize::from(id.as_bytes()[6] - b'0');
        let otherwise = children.pop().filter(|_| children.len() == cases);
        let Some(otherwise) = otherwise else {
            return Err(self.expected(at, "a child for each case and one more", "another number"));
        };
        let variable = at.attribute("variable").unwrap_or_default();
        let mut node = otherwise;
        for (place, child) in children.into_iter().enumerate().rev() {
            let port = format!("case_{}", place + 1);
            let Some(case) = at.attribute(&port[..]) else {
                return Err(self.expected(at, "a value for each case", "none"));
            };
            let ports = [("case", case), ("variable", variable)];
            let ask = self.leaf_with_ports(at, "SwitchCase", &ports, Some("Condition"))?;
            node = Node::if_else(ask, child, node);
        }
        Ok(node)
    }

    fn leaf(&mut self, at: Element<'a, 'x>, id: &'a str, kind: Option<&str>) -> Parsed<Node> {
        if at.has_children() && elements(at).next().is_some() || why_refused(id).is_some() {
            return Err(self.unknown(at, id));
        }
        let ports: Vec<_> = self
            .attributes(at, &[])?
            .iter()
            .map(|port| (port.name(), port.value()))
            .filter(|port| port.0 != "ID" || kind.is_none())
            .collect();
        let model = self.models.get(id).map(|model| model.tag_name().name());
        self.leaf_with_ports(at, id, &ports, kind.or(model))
    }

    /// The leaf that is named by its ID and its ports, with their values in the main tree.
    fn leaf_with_ports(
        &self,
        at: Element<'_, '_>,
        id: &str,
        ports: &[(&str, &str)],
        kind: Option<&str>,
    ) -> Parsed<Node> {
        if self.open.len() > 1 && ["Script", "ScriptCondition"].contains(&id) {
            let why = "its names are those of a subtree: let a leaf with ports do it";
            return Err(self.refused(at, id, why));
        }
        let resolved =
            ports.iter().map(|&(port, value)| Ok((port, self.resolve(at, port, value)?)));
        let resolved = resolved.collect::<Parsed<Vec<_>>>()?;
        self.found(at, name_of_leaf(id, &resolved), kind)
    }

    /// The leaf of the library with this name.
    fn found(&self, at: Element<'_, '_>, name: String, kind: Option<&str>) -> Parsed<Node> {
        let wanted = match kind {
            None => [true; 3],
            Some("Condition") => [false, true, false],
            Some("Action") => [true, false, true],
            Some("Effect") => [false, false, true],
            Some(_) => [false; 3],
        };
        let mut places =
            (0..3).filter(|&place| wanted[place] && self.leaves[place].contains(&&*name));
        let place = places.next();
        if places.next().is_some() {
            return Err(self.expected(at, "a name that only one entry of the library has", name));
        }
        match place {
            Some(0) => Ok(Node::action(name)),
            Some(1) => Ok(Node::condition(name)),
            Some(_) => Ok(Node::effect(name)),
            None => {
                let leaves = (0..3).filter(|&place| wanted[place]);
                let leaves = leaves.flat_map(|place| &self.leaves[place]).copied();
                Err(self.unknown_name(at, "leaf", &name, leaves))
            }
        }
    }
}

fn elements<'a, 'x>(at: Element<'a, 'x>) -> impl Iterator<Item = Element<'a, 'x>> {
    at.children().filter(Element::is_element)
}

/// Whether a node ends in the tick in which it begins.
fn takes_no_time(node: &Node) -> bool {
    let is_leaf = matches!(node.op, Op::Condition | Op::Effect | Op::Succeed | Op::Fail);
    let hands_on = matches!(
        node.op,
        Op::Sequence
            | Op::Selector
            | Op::SequenceMemory
            | Op::SelectorMemory
            | Op::IfElse
            | Op::IfElseMemory
            | Op::Invert
            | Op::ForceSuccess
            | Op::ForceFailure
            | Op::Once
    );
    is_leaf || hands_on && node.children.iter().all(takes_no_time)
}
