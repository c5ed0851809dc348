//! Trees from the XML of BehaviorTree.CPP, version 4, and to it, as Groot2 opens it.

mod export;
mod import;
mod table;
