//! Import and export of trees in the XML of BehaviorTree.CPP, version 4, which Groot2 opens.

mod export;
mod import;
mod table;
