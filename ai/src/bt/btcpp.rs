//! Trees from the XML of BehaviorTree.CPP, version 4, and to it, as Groot2 opens it.

use core::time::Duration;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use formic_ecs::QueryData;
use roxmltree::{Attribute, Document, Node as Element};

use super::node::{Node, Op};
use super::parse::{ParseError, ParseProblem};
use super::tree::{Tree, TreeError};
use crate::library::Library;

/// Nodes of BehaviorTree.CPP that no tree here can stand for, and why.
const REFUSED: [(&str, &str); 18] = [
    ("SequenceWithMemory", "it goes on behind the child that failed, also after a halt"),
    ("SequenceStar", "it goes on behind the child that failed, also after a halt"),
    ("AsyncSequence", "it leaves the tick after each child"),
    ("AsyncFallback", "it leaves the tick after each child"),
    ("ParallelAll", "no parallel here goes on when its result is certain"),
    ("TryCatch", "no sequence here has a branch for its failure alone"),
    ("ManualSelector", "no tree here asks a person"),
    ("Precondition", "scripts are not run: write a condition and a ReactiveSequence"),
    ("SkipUnlessUpdated", "no node here is skipped"),
    ("WaitValueUpdate", "the entries of a blackboard have no versions"),
    ("WasEntryUpdated", "the entries of a blackboard have no versions"),
    ("ConsumeQueue", "there are no queues"),
    ("LoopInt", "there are no queues"),
    ("LoopBool", "there are no queues"),
    ("LoopDouble", "there are no queues"),
    ("LoopString", "there are no queues"),
    ("SubTreePlus", "this is version 3: write SubTree"),
    ("include", "other files are not read: put their trees into this one"),
];

/// The nodes of BehaviorTree.CPP that are read, each with its ports.
const READ: [(&str, &[&str]); 24] = [
    ("Sequence", &[]),
    ("ReactiveSequence", &[]),
    ("Fallback", &[]),
    ("ReactiveFallback", &[]),
    ("Parallel", &["success_count", "failure_count"]),
    ("IfThenElse", &[]),
    ("WhileDoElse", &[]),
    ("Switch2", &["variable", "case_1", "case_2"]),
    ("Switch3", &["variable", "case_1", "case_2", "case_3"]),
    ("Switch4", &["variable", "case_1", "case_2", "case_3", "case_4"]),
    ("Switch5", &["variable", "case_1", "case_2", "case_3", "case_4", "case_5"]),
    ("Switch6", &["variable", "case_1", "case_2", "case_3", "case_4", "case_5", "case_6"]),
    ("Inverter", &[]),
    ("ForceSuccess", &[]),
    ("ForceFailure", &[]),
    ("Repeat", &["num_cycles"]),
    ("RetryUntilSuccessful", &["num_attempts"]),
    ("KeepRunningUntilFailure", &[]),
    ("Delay", &["delay_msec"]),
    ("Timeout", &["msec"]),
    ("RunOnce", &["then_skip"]),
    ("Sleep", &["msec"]),
    ("AlwaysSuccess", &[]),
    ("AlwaysFailure", &[]),
];

fn ports_of(id: &str) -> Option<&'static [&'static str]> {
    READ.iter().find(|(other, _)| *other == id).map(|&(_, ports)| ports)
}

impl<Q: QueryData> Tree<Q> {
    /// Makes a tree from the XML of BehaviorTree.CPP; see [`Node::parse_btcpp`].
    ///
    /// # Errors
    /// Returns an error if the text is no such tree, if a node has no counterpart, or if the tree
    /// makes no sense with this library.
    pub fn parse_btcpp(
        text: &str,
        library: &Library<Q>,
        tick: Duration,
    ) -> Result<Self, TreeError> {
        Self::new(&Node::parse_btcpp(text, library, tick)?, library)
    }
}

impl Node {
    /// Reads the main tree of an XML file of BehaviorTree.CPP, version 4. Times are rounded up to
    /// whole ticks of this length. What cannot be said with our nodes is an error: `docs/ai.md` has
    /// the table.
    ///
    /// A leaf is the action, condition or effect of the library that has its name. Ports are part of
    /// the name, sorted and written as in the file, those of subtrees replaced by what they stand for
    /// in the main tree; so are the codes of scripts.
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
    /// Returns an error if the text is no such tree, a node has no counterpart, or a leaf is not in
    /// the library.
    pub fn parse_btcpp<Q: QueryData>(
        text: &str,
        library: &Library<Q>,
        tick: Duration,
    ) -> Result<Self, ParseError> {
        let document = Document::parse(text).map_err(|error| {
            let at = error.pos();
            let problem = ParseProblem::Malformed(error.to_string());
            ParseError { line: at.row, column: at.col, problem }
        })?;
        let finds: [&dyn Fn(&str) -> bool; 3] = [
            &|name| library.find_action(name).is_some(),
            &|name| library.find_condition(name).is_some(),
            &|name| library.find_effect(name).is_some(),
        ];
        let mut import = Import {
            document: &document,
            finds,
            tick,
            trees: HashMap::new(),
            models: HashMap::new(),
            open: Vec::new(),
            depth: 0,
            count: 0,
        };
        import.main_tree()
    }

    /// Writes it as an XML file of BehaviorTree.CPP, version 4, that Groot2 opens: with a model of
    /// each leaf. Effects are actions there.
    ///
    /// # Errors
    /// Returns [`ParseProblem::NoCounterpart`] if BehaviorTree.CPP has no such node, or gives the
    /// name of a leaf to a node of its own.
    pub fn to_btcpp(&self, tick: Duration) -> Result<String, ParseProblem> {
        let mut export = Export { text: String::new(), leaves: BTreeMap::new(), tick };
        export.node(self, 2)?;
        let mut text = String::from(
            "<root BTCPP_format=\"4\" main_tree_to_execute=\"Main\">\n  <BehaviorTree ID=\"Main\">\n",
        );
        text += &export.text;
        text += "  </BehaviorTree>\n  <TreeNodesModel>\n";
        for (id, (kind, ports)) in export.leaves {
            text += &format!("    <{kind} ID=\"{}\">\n", escaped(&id));
            for (port, direction) in ports {
                text += &format!("      <{direction} name=\"{}\"/>\n", escaped(&port));
            }
            text += &format!("    </{kind}>\n");
        }
        Ok(text + "  </TreeNodesModel>\n</root>\n")
    }
}

/// What the ports of a subtree stand for in the main tree.
struct Scope<'s> {
    ports: HashMap<&'s str, String>,
    /// Where `_autoremap` looks for the others.
    outer: Option<Option<&'s Scope<'s>>>,
}

struct Import<'a, 'x> {
    document: &'a Document<'x>,
    /// Whether the library has an action, a condition, an effect of a name.
    finds: [&'a dyn Fn(&str) -> bool; 3],
    tick: Duration,
    trees: HashMap<&'a str, Element<'a, 'x>>,
    models: HashMap<&'a str, Element<'a, 'x>>,
    /// The subtrees that are being read, each used by the one before.
    open: Vec<&'a str>,
    depth: usize,
    count: usize,
}

type Parsed<T> = Result<T, ParseError>;

impl<'a, 'x> Import<'a, 'x> {
    fn error(&self, at: Element<'_, '_>, problem: ParseProblem) -> ParseError {
        let at = self.document.text_pos_at(at.range().start);
        ParseError { line: at.row, column: at.col, problem }
    }

    fn expected(
        &self,
        at: Element<'_, '_>,
        expected: &'static str,
        found: impl Into<String>,
    ) -> ParseError {
        self.error(at, ParseProblem::Expected { expected, found: found.into() })
    }

    fn refused(&self, at: Element<'_, '_>, node: &str, why: &'static str) -> ParseError {
        self.error(at, ParseProblem::NoCounterpart { node: node.into(), why })
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
                        return Err(self.error(element, ParseProblem::DefinedTwice(id.into())));
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
        let main = match (root.attribute("main_tree_to_execute"), &first[..]) {
            (Some(id), _) => self.tree(root, id)?,
            (None, [only]) => *only,
            (None, found) => {
                let found = format!("{} trees", found.len());
                return Err(self.expected(root, "main_tree_to_execute", found));
            }
        };
        self.tree_root(main, None)
    }

    fn unknown(&self, at: Element<'_, '_>, id: &str) -> ParseError {
        match REFUSED.iter().find(|(other, _)| *other == id) {
            Some((_, why)) => self.refused(at, id, why),
            None => self.expected(at, "a node of the library or of BehaviorTree.CPP", id),
        }
    }

    fn tree(&self, at: Element<'_, '_>, id: &str) -> Parsed<Element<'a, 'x>> {
        let unknown = || self.error(at, ParseProblem::UnknownSubtree(id.into()));
        self.trees.get(id).copied().ok_or_else(unknown)
    }

    fn tree_root(&mut self, tree: Element<'a, 'x>, scope: Option<&Scope<'_>>) -> Parsed<Node> {
        let id = tree.attribute("ID").unwrap_or_default();
        self.attributes(tree, &["ID"])?;
        if let Some(from) = self.open.iter().position(|open| *open == id) {
            let way = self.open[from..].iter().chain([&id]).map(|id| String::from(*id)).collect();
            return Err(self.error(tree, ParseProblem::CyclicSubtree(way)));
        }
        self.open.push(id);
        let [root] = self.children::<1>(tree, scope, "one node")?;
        self.open.pop();
        Ok(root)
    }

    /// Its attributes, but for those that mean nothing, sorted; others than these are an error.
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

    fn all_children(
        &mut self,
        at: Element<'a, 'x>,
        scope: Option<&Scope<'_>>,
    ) -> Parsed<Vec<Node>> {
        elements(at).map(|child| self.node(child, scope)).collect()
    }

    fn children<const N: usize>(
        &mut self,
        at: Element<'a, 'x>,
        scope: Option<&Scope<'_>>,
        expected: &'static str,
    ) -> Parsed<[Node; N]> {
        let children = self.all_children(at, scope)?;
        let found = format!("{} nodes", children.len());
        children.try_into().map_err(|_| self.expected(at, expected, found))
    }

    fn node(&mut self, at: Element<'a, 'x>, scope: Option<&Scope<'_>>) -> Parsed<Node> {
        self.depth += 1;
        self.count += 1;
        if self.depth > Node::DEPTH_MAX {
            return Err(self.error(at, ParseProblem::TooDeep));
        }
        if self.count > Node::COUNT_MAX {
            return Err(self.error(at, ParseProblem::TooLarge));
        }
        let tag = at.tag_name().name();
        let node = match tag {
            "SubTree" => self.subtree(at, scope)?,
            "Action" | "Condition" | "Control" | "Decorator" => {
                let id = self.id(at)?;
                self.named(at, id, Some(tag), scope)?
            }
            id => self.named(at, id, None, scope)?,
        };
        self.depth -= 1;
        Ok(node)
    }

    fn subtree(&mut self, at: Element<'a, 'x>, scope: Option<&Scope<'_>>) -> Parsed<Node> {
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
                ports.insert(port, self.resolve(at, port, value, scope)?);
            }
        }
        let remaps_all = match at.attribute("_autoremap") {
            None | Some("false" | "0") => false,
            Some("true" | "1") => true,
            Some(other) => return Err(self.expected(at, "true or false", other)),
        };
        self.tree_root(tree, Some(&Scope { ports, outer: remaps_all.then_some(scope) }))
    }

    /// What the value of a port is in the main tree.
    fn resolve(
        &self,
        at: Element<'_, '_>,
        port: &str,
        value: &str,
        scope: Option<&Scope<'_>>,
    ) -> Parsed<String> {
        let entry = value.trim().strip_prefix('{').and_then(|value| value.strip_suffix('}'));
        let Some(entry) = entry.map(|entry| if entry == "=" { port } else { entry }) else {
            return Ok(value.into());
        };
        self.entry(at, entry, scope)
    }

    fn entry(&self, at: Element<'_, '_>, entry: &str, scope: Option<&Scope<'_>>) -> Parsed<String> {
        let Some(scope) = scope.filter(|_| !entry.starts_with('@')) else {
            return Ok(format!("{{{entry}}}"));
        };
        match (scope.ports.get(entry), scope.outer) {
            (Some(value), _) => Ok(value.clone()),
            (None, Some(outer)) if !entry.starts_with('_') => self.entry(at, entry, outer),
            _ => Err(self.refused(at, entry, "each use of a subtree has its own: make it a port")),
        }
    }

    /// A number of times or children that stands in a port, or its default.
    fn number(&self, at: Element<'_, '_>, port: &'static str, default: &str) -> Parsed<i64> {
        let value = at.attribute(port).unwrap_or(default);
        if value.is_empty() {
            return Err(self.expected(at, port, "none"));
        }
        let is_number = |number: &i64| (-1..=i64::from(u32::MAX)).contains(number);
        let number = value.trim().parse().ok().filter(is_number);
        number.ok_or_else(|| self.error(at, ParseProblem::BadNumber(value.into())))
    }

    /// A number from 1, or `None` for -1, which is no end.
    fn times(&self, at: Element<'_, '_>, port: &'static str) -> Parsed<Option<u32>> {
        match self.number(at, port, "")? {
            -1 => Ok(None),
            0 => Err(self.error(at, ParseProblem::BadNumber("0".into()))),
            times => Ok(u32::try_from(times).ok()),
        }
    }

    fn ticks(&self, at: Element<'_, '_>, port: &'static str) -> Parsed<u32> {
        let tick = self.tick.as_nanos().max(1);
        let bad = || {
            let value = at.attribute(port).unwrap_or_default();
            self.error(at, ParseProblem::BadNumber(value.into()))
        };
        let length = u128::try_from(self.number(at, port, "")?).map_err(|_| bad())? * 1_000_000;
        u32::try_from(length.div_ceil(tick)).map_err(|_| bad())
    }

    /// A node that is no subtree.
    fn named(
        &mut self,
        at: Element<'a, 'x>,
        id: &'a str,
        kind: Option<&str>,
        scope: Option<&Scope<'_>>,
    ) -> Parsed<Node> {
        let Some(known) = ports_of(id) else { return self.leaf(at, id, kind, scope) };
        let known: Vec<&str> = known.iter().copied().chain(["ID"]).collect();
        self.attributes(at, &known)?;
        let decorator = |import: &mut Self| -> Parsed<Node> {
            let [child] = import.children(at, scope, "one child")?;
            Ok(child)
        };
        Ok(match id {
            "Sequence" => Node::sequence_memory(self.some_children(at, scope)?),
            "ReactiveSequence" => Node::sequence(self.some_children(at, scope)?),
            "Fallback" => Node::selector_memory(self.some_children(at, scope)?),
            "ReactiveFallback" => Node::selector(self.some_children(at, scope)?),
            "Parallel" => self.parallel(at, scope)?,
            "IfThenElse" if elements(at).count() == 3 => {
                let why = "no node here remembers which branch it took: WhileDoElse asks again";
                return Err(self.refused(at, id, why));
            }
            "IfThenElse" => {
                let branch: [Node; 2] = self.children(at, scope, "two children")?;
                Node::sequence_memory(branch)
            }
            "WhileDoElse" => self.while_do_else(at, scope)?,
            "Inverter" => match decorator(self)? {
                // Here this is success.
                mut child if is_keep_running(&child) => child.children.swap_remove(0),
                child => child.invert(),
            },
            "ForceSuccess" => decorator(self)?.force_success(),
            "ForceFailure" => decorator(self)?.force_failure(),
            "Repeat" => {
                let times = self.times(at, "num_cycles")?;
                decorator(self)?.repeat(times.unwrap_or(0))
            }
            "RetryUntilSuccessful" => match self.times(at, "num_attempts")? {
                Some(tries) => decorator(self)?.retry(tries),
                None => decorator(self)?.until_success(),
            },
            "KeepRunningUntilFailure" => decorator(self)?.until_failure().invert(),
            "Delay" => {
                let wait = Node::wait(self.ticks(at, "delay_msec")?);
                Node::sequence_memory([wait, decorator(self)?])
            }
            "Timeout" => match self.ticks(at, "msec")? {
                0 => decorator(self)?,
                ticks => decorator(self)?.timeout(ticks),
            },
            "RunOnce" if at.attribute("then_skip") == Some("false") => decorator(self)?.once(),
            "RunOnce" => return Err(self.refused(at, id, "it skips: say then_skip=\"false\"")),
            "Sleep" | "AlwaysSuccess" | "AlwaysFailure" => {
                let [] = self.children(at, scope, "no children")?;
                match id {
                    "Sleep" => Node::wait(self.ticks(at, "msec")?),
                    "AlwaysSuccess" => Node::succeed(),
                    _ => Node::fail(),
                }
            }
            _ => self.switch(at, id, scope)?,
        })
    }

    fn some_children(
        &mut self,
        at: Element<'a, 'x>,
        scope: Option<&Scope<'_>>,
    ) -> Parsed<Vec<Node>> {
        let children = self.all_children(at, scope)?;
        if children.is_empty() {
            return Err(self.expected(at, "children", "none"));
        }
        Ok(children)
    }

    fn parallel(&mut self, at: Element<'a, 'x>, scope: Option<&Scope<'_>>) -> Parsed<Node> {
        let children = self.some_children(at, scope)?;
        let count = children.len() as u64;
        let mut counts = [0; 2];
        for (place, (port, default)) in
            [("success_count", "-1"), ("failure_count", "1")].into_iter().enumerate()
        {
            counts[place] = match self.number(at, port, default)? {
                -1 => u32::try_from(count).unwrap_or(u32::MAX),
                number => u32::try_from(number).unwrap_or_default(),
            };
            if !(1..=count).contains(&u64::from(counts[place])) {
                return Err(self.expected(
                    at,
                    "a count of its children",
                    counts[place].to_string(),
                ));
            }
        }
        let node = Node::parallel(counts[0], counts[1], children);
        match parallel_differs(&node) {
            Some(why) => Err(self.refused(at, "Parallel", why)),
            None => Ok(node),
        }
    }

    fn while_do_else(&mut self, at: Element<'a, 'x>, scope: Option<&Scope<'_>>) -> Parsed<Node> {
        let mut children = self.some_children(at, scope)?;
        let otherwise = if children.len() == 3 { children.pop() } else { None };
        let Ok([ask, then]) = <[Node; 2]>::try_from(children) else {
            return Err(self.expected(at, "two or three children", "another number"));
        };
        if !is_pure(&ask) {
            let why = "its first child is to be made of conditions, which take no time";
            return Err(self.refused(at, "WhileDoElse", why));
        }
        match otherwise {
            None => Ok(Node::sequence([ask, then])),
            Some(otherwise) => self.choice(at, vec![(ask, then)], otherwise),
        }
    }

    fn switch(&mut self, at: Element<'a, 'x>, id: &str, scope: Option<&Scope<'_>>) -> Parsed<Node> {
        let mut children = self.some_children(at, scope)?;
        let cases = usize::from(id.as_bytes()[6] - b'0');
        let otherwise = children.pop().filter(|_| children.len() == cases);
        let Some(otherwise) = otherwise else {
            return Err(self.expected(at, "a child for each case and one more", "another number"));
        };
        let variable = at.attribute("variable").unwrap_or_default();
        let variable = self.resolve(at, "variable", variable, scope)?;
        let mut branches = Vec::new();
        for (place, child) in children.into_iter().enumerate() {
            let port = format!("case_{}", place + 1);
            let Some(case) = at.attribute(&port[..]) else {
                return Err(self.expected(at, "a value for each case", "none"));
            };
            let case = self.resolve(at, &port, case, scope)?;
            let name = named_ports("SwitchCase", [("case", &case), ("variable", &variable)]);
            branches.push((self.found(at, name, Some("Condition"))?, child));
        }
        self.choice(at, branches, otherwise)
    }

    /// The first branch whose condition holds. As a branch that fails is followed by asking again, no
    /// effect in it may change the answer.
    fn choice(
        &self,
        at: Element<'_, '_>,
        branches: Vec<(Node, Node)>,
        otherwise: Node,
    ) -> Parsed<Node> {
        let mut before: Vec<Node> = Vec::new();
        let mut all = Vec::new();
        for (ask, then) in branches {
            if has(&then, &[Op::Effect]) {
                let why = "a branch with an effect could change its own condition";
                return Err(self.refused(at, at.tag_name().name(), why));
            }
            let not = ask.clone().invert();
            all.push(Node::sequence(before.iter().cloned().chain([ask, then])));
            before.push(not);
        }
        all.push(Node::sequence(before.into_iter().chain([otherwise])));
        Ok(Node::selector(all))
    }

    fn leaf(
        &mut self,
        at: Element<'a, 'x>,
        id: &'a str,
        kind: Option<&str>,
        scope: Option<&Scope<'_>>,
    ) -> Parsed<Node> {
        if at.has_children() && elements(at).next().is_some()
            || REFUSED.iter().any(|(other, _)| *other == id)
        {
            return Err(self.unknown(at, id));
        }
        if scope.is_some() && ["Script", "ScriptCondition"].contains(&id) {
            let why = "its names are those of a subtree: let a leaf with ports do it";
            return Err(self.refused(at, id, why));
        }
        let mut ports = Vec::new();
        for port in self.attributes(at, &[])? {
            if port.name() == "ID" && kind.is_some() {
                continue;
            }
            ports.push((port.name(), self.resolve(at, port.name(), port.value(), scope)?));
        }
        let name = named_ports(id, ports.iter().map(|(port, value)| (*port, value)));
        let model = self.models.get(id).map(|model| model.tag_name().name());
        self.found(at, name, kind.or(model))
    }

    /// The leaf of the library that has this name.
    fn found(&self, at: Element<'_, '_>, name: String, kind: Option<&str>) -> Parsed<Node> {
        let wanted = match kind {
            None => [true; 3],
            Some("Condition") => [false, true, false],
            Some("Action") => [true, false, true],
            Some(_) => [false; 3],
        };
        let mut places = (0..3).filter(|&place| wanted[place] && (self.finds[place])(&name));
        let place = places.next();
        if places.next().is_some() {
            return Err(self.expected(at, "a name that only one entry of the library has", name));
        }
        match place {
            Some(0) => Ok(Node::action(name)),
            Some(1) => Ok(Node::condition(name)),
            Some(_) => Ok(Node::effect(name)),
            None => Err(self.expected(at, "the name of a leaf in the library", name)),
        }
    }
}

fn elements<'a, 'x>(at: Element<'a, 'x>) -> impl Iterator<Item = Element<'a, 'x>> {
    at.children().filter(Element::is_element)
}

fn has(node: &Node, ops: &[Op]) -> bool {
    ops.contains(&node.op) || node.children.iter().any(|child| has(child, ops))
}

/// Theirs ends with the first child that decides, ours asks the others as well. Why that shows.
fn parallel_differs(node: &Node) -> Option<&'static str> {
    let [successes, failures] = node.numbers.map(u64::from);
    if successes + failures <= node.children.len() as u64 {
        return Some("which count is reached first would depend on the order within a tick");
    }
    let is_seen = node.children.iter().skip(1).any(|child| has(child, &[Op::Effect, Op::Once]));
    is_seen.then_some("an effect behind its first child is left out there if one before decides")
}

/// Whether it takes no time and changes nothing.
fn is_pure(node: &Node) -> bool {
    use Op::{Condition, Fail, ForceFailure, ForceSuccess, Invert, Selector, Sequence, Succeed};
    let pure = [Condition, Succeed, Fail, Invert, ForceSuccess, ForceFailure, Sequence, Selector];
    pure.contains(&node.op) && node.children.iter().all(is_pure)
}

/// Their `KeepRunningUntilFailure` fails in the end, where our `until_failure` succeeds.
fn is_keep_running(node: &Node) -> bool {
    node.op == Op::Invert && node.children[0].op == Op::UntilFailure
}

/// The name of a leaf with ports: `MoveBase goal="{home}"`.
fn named_ports<'p>(id: &str, ports: impl IntoIterator<Item = (&'p str, &'p String)>) -> String {
    ports.into_iter().fold(id.into(), |mut name, (port, value)| {
        _ = write!(name, " {port}=\"{}\"", value.replace('&', "&amp;").replace('"', "&quot;"));
        name
    })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// The ID of a leaf and its ports, as [`named_ports`] puts them together; escaped.
fn split_name(name: &str) -> Option<(&str, Vec<(&str, &str)>)> {
    let (id, mut rest) = name.split_once(' ').unwrap_or((name, ""));
    let mut ports = Vec::new();
    while !rest.is_empty() {
        let (port, after) = rest.split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        if port.is_empty() || !port.chars().all(is_name) || value.contains('<') {
            return None;
        }
        ports.push((port, value));
        rest = after.trim_start();
    }
    Some((id, ports))
}

struct Export {
    text: String,
    /// The kind of each leaf, and the kinds of its ports.
    leaves: BTreeMap<String, (&'static str, BTreeMap<String, &'static str>)>,
    tick: Duration,
}

impl Export {
    fn milliseconds(&self, ticks: u32) -> u128 {
        self.tick.as_nanos() * u128::from(ticks) / 1_000_000
    }

    fn node(&mut self, node: &Node, level: usize) -> Result<(), ParseProblem> {
        if is_keep_running(node) {
            return self.over("KeepRunningUntilFailure", node.children[0].children.iter(), level);
        }
        let [number, failures] = node.numbers;
        let tag: String = match node.op {
            Op::Sequence | Op::Guard => "ReactiveSequence".into(),
            Op::Selector => "ReactiveFallback".into(),
            Op::SequenceMemory => "Sequence".into(),
            Op::SelectorMemory => "Fallback".into(),
            Op::Invert | Op::UntilFailure => "Inverter".into(),
            Op::ForceSuccess => "ForceSuccess".into(),
            Op::ForceFailure => "ForceFailure".into(),
            Op::Repeat if number == 0 => "Repeat num_cycles=\"-1\"".into(),
            Op::Repeat => format!("Repeat num_cycles=\"{number}\""),
            Op::Retry => format!("RetryUntilSuccessful num_attempts=\"{}\"", number.max(1)),
            Op::UntilSuccess => "RetryUntilSuccessful num_attempts=\"-1\"".into(),
            // There 0 is no end, here it fails without asking its child.
            Op::Timeout if number == 0 => return self.over("AlwaysFailure", [], level),
            Op::Timeout => format!("Timeout msec=\"{}\"", self.milliseconds(number)),
            Op::Wait => format!("Sleep msec=\"{}\"", self.milliseconds(number)),
            Op::Once => "RunOnce then_skip=\"false\"".into(),
            Op::Succeed => "AlwaysSuccess".into(),
            Op::Fail => "AlwaysFailure".into(),
            Op::Parallel => {
                if let Some(why) = parallel_differs(node) {
                    return Err(ParseProblem::NoCounterpart { node: node.to_string(), why });
                }
                format!("Parallel success_count=\"{number}\" failure_count=\"{failures}\"")
            }
            Op::Action | Op::Effect => self.leaf("Action", &node.names[0])?,
            Op::Condition => self.leaf("Condition", &node.names[0])?,
            Op::Random | Op::Weighted | Op::Priority | Op::Cooldown | Op::StayUntil => {
                let why = "BehaviorTree.CPP has no such node";
                return Err(ParseProblem::NoCounterpart { node: node.to_string(), why });
            }
        };
        match node.op {
            Op::Guard => {
                let ask = Node::condition(&node.names[0][..]);
                self.over(&tag, [&ask].into_iter().chain(&node.children), level)
            }
            Op::UntilFailure => {
                let keep_running = Node::until_failure(node.children[0].clone()).invert();
                self.over(&tag, [&keep_running], level)
            }
            _ => self.over(&tag, &node.children, level),
        }
    }

    fn over<'n>(
        &mut self,
        tag: &str,
        children: impl IntoIterator<Item = &'n Node>,
        level: usize,
    ) -> Result<(), ParseProblem> {
        let indent = level * 2;
        let mut children = children.into_iter().peekable();
        if children.peek().is_none() {
            self.text += &format!("{:indent$}<{tag}/>\n", "");
            return Ok(());
        }
        self.text += &format!("{:indent$}<{tag}>\n", "");
        for child in children {
            self.node(child, level + 1)?;
        }
        let id = tag.split(' ').next().unwrap_or_default();
        self.text += &format!("{:indent$}</{id}>\n", "");
        Ok(())
    }

    fn leaf(&mut self, kind: &'static str, name: &str) -> Result<String, ParseProblem> {
        let refused = |why| Err(ParseProblem::NoCounterpart { node: name.into(), why });
        let Some((id, ports)) = split_name(name) else {
            return refused("a name is an ID, and then ports as in XML");
        };
        if ports_of(id).is_some() || REFUSED.iter().any(|(other, _)| *other == id) {
            return refused("BehaviorTree.CPP has a node of its own of this name");
        }
        let mut tag = format!("{kind} ID=\"{}\"", escaped(id));
        let of_theirs = ["Script", "ScriptCondition", "SetBlackboard", "UnsetBlackboard"];
        let mut model = BTreeMap::new();
        for (port, value) in ports {
            _ = write!(tag, " {port}=\"{value}\"");
            let direction = if value.starts_with('{') { "inout_port" } else { "input_port" };
            model.insert(port.into(), direction);
        }
        if !of_theirs.contains(&id) {
            let known = self.leaves.entry(id.into()).or_insert((kind, BTreeMap::new()));
            if known.0 != kind {
                return refused("a condition and an action have one ID");
            }
            known.1.extend(model);
        }
        Ok(tag)
    }
}
