//! The fields of components as text: how they are read, and how a text sets one.

use std::cell::Cell;

use formic_ecs::prelude::*;
use formic_ecs::{ByIdError, ComponentDescriptor, ComponentId, FieldText, QueryPlan};

/// A vector of another library, as far as it matters here.
#[derive(HashState)]
struct Point([f32; 2]);

impl AsRef<[f32; 2]> for Point {
    fn as_ref(&self) -> &[f32; 2] {
        &self.0
    }
}

impl AsMut<[f32; 2]> for Point {
    fn as_mut(&mut self) -> &mut [f32; 2] {
        &mut self.0
    }
}

/// Neither written nor read by a person.
#[derive(HashState)]
struct Secret(u8);

#[derive(Component)]
#[component(tracked, editable)]
struct Everything {
    number: i16,
    name: String,
    place: Point,
    friend: Option<Entity>,
    secret: Secret,
    list: Vec<u32>,
}

#[derive(Component, Debug, PartialEq)]
#[component(editable)]
enum Mood {
    Calm,
    Tired,
    Angry(f32),
}

#[derive(Component)]
struct Tag;

fn id<T: Component>(world: &mut World) -> ComponentId {
    world.register::<T>()
}

fn everything(world: &mut World) -> (Entity, ComponentId) {
    let entity = world.spawn(Everything {
        number: -3,
        name: "Ada".into(),
        place: Point([1.5, -2.0]),
        friend: None,
        secret: Secret(7),
        list: vec![0; 5_000],
    });
    (entity, id::<Everything>(world))
}

/// How many entities were changed since it was asked last.
fn changed(world: &mut World, plan: &mut QueryPlan<Entity, Changed<Everything>>) -> usize {
    world.cell().query(plan).expect("free").query().count()
}

fn text(fields: &[FieldText], name: &str) -> (Option<String>, bool) {
    let field = fields.iter().find(|field| field.name == name).expect("it has the field");
    (field.text.clone(), field.is_editable)
}

#[test]
fn each_field_is_written_as_its_type_allows() {
    let mut world = World::new();
    let (entity, id) = everything(&mut world);
    let fields = world.by_id().fields(entity, id).expect("it has the component");
    assert_eq!(text(&fields, "number"), (Some("-3".into()), true));
    assert_eq!(text(&fields, "name"), (Some("Ada".into()), true));
    assert_eq!(text(&fields, "place"), (Some("1.5, -2".into()), true));
    assert_eq!(text(&fields, "friend"), (Some("None".into()), false));
    assert_eq!(text(&fields, "secret"), (None, false));
    let (list, is_editable) = text(&fields, "list");
    let list = list.expect("a list is Debug");
    assert!(
        list.starts_with("[0, 0") && list.ends_with(" ...") && list.len() < 1_010 && !is_editable
    );
}

#[test]
fn a_text_sets_a_field_and_counts_as_a_change() {
    let mut world = World::new();
    let (entity, id) = everything(&mut world);
    let mut plan = world.plan_filtered();
    let mut changed = |world: &mut World| changed(world, &mut plan);
    assert_eq!(changed(&mut world), 1, "it is new");
    for (place, text) in [(0, "12"), (1, "Ida, \"the\" first"), (2, " 4 ,0.25")] {
        world.by_id_mut().set_field(entity, id, place, text).expect("it is a value of the field");
        assert_eq!(changed(&mut world), 1);
    }
    let value = world.get::<Everything>(entity).expect("it has it");
    assert_eq!(
        (value.number, &*value.name, value.place.0),
        (12, "Ida, \"the\" first", [4.0, 0.25])
    );
}

#[test]
fn a_text_that_is_no_value_is_an_error_and_no_change() {
    let mut world = World::new();
    let (entity, id) = everything(&mut world);
    let before = world.state_hash();
    let mut plan = world.plan_filtered();
    assert_eq!(changed(&mut world, &mut plan), 1, "it is new");
    for (place, text) in
        [(0, "99999"), (0, ""), (2, "1"), (2, "1, 2, 3"), (3, "1v1"), (4, "7"), (9, "7")]
    {
        let error = world.by_id_mut().set_field(entity, id, place, text);
        assert!(matches!(error, Err(ByIdError::NotSet { .. })), "{place} {text}: {error:?}");
    }
    assert_eq!(world.state_hash(), before);
    assert_eq!(changed(&mut world, &mut plan), 0, "nothing changed");
    world.despawn(entity).expect("it lives");
    assert!(matches!(
        world.by_id_mut().set_field(entity, id, 0, "1"),
        Err(ByIdError::NoSuchEntity(_))
    ));
    assert!(matches!(world.by_id().fields(entity, id), Err(ByIdError::NoSuchEntity(_))));
}

#[test]
fn a_variant_without_fields_is_set_by_its_name() {
    let mut world = World::new();
    let cat = world.spawn(Mood::Angry(0.5));
    let id = id::<Mood>(&mut world);
    world.by_id_mut().set_field(cat, id, 1, "0.75").expect("the field of the variant");
    assert_eq!(world.get(cat), Ok(&Mood::Angry(0.75)));
    world.by_id_mut().set_field(cat, id, 0, "Tired").expect("a variant without fields");
    assert_eq!(world.get(cat), Ok(&Mood::Tired));
    for (place, text) in [(0, "Angry"), (0, "tired"), (1, "0.5")] {
        assert!(world.by_id_mut().set_field(cat, id, place, text).is_err(), "{place} {text}");
    }
    assert_eq!(world.by_id().fields(cat, id).expect("it has it").len(), 1);
    world.by_id_mut().set_field(cat, id, 0, "Calm").expect("a variant without fields");
}

/// What unsafe code could rely on: no text reaches a private field of a type that does not say so.
#[test]
fn a_component_that_is_not_editable_is_shown_and_not_set() {
    #[derive(Component)]
    struct Sealed(u32);
    #[derive(Component)]
    enum Either {
        One,
        Two(u32),
    }
    let mut world = World::new();
    let [sealed, one] = [world.spawn(Sealed(7)), world.spawn(Either::One)];
    let two = world.spawn(Either::Two(7));
    let ids = [id::<Sealed>(&mut world), id::<Either>(&mut world)];
    let before = world.state_hash();
    for (entity, id) in [(sealed, ids[0]), (one, ids[1]), (two, ids[1])] {
        for field in world.by_id().fields(entity, id).expect("it has it") {
            assert!(field.text.is_some() && !field.is_editable, "{field:?}");
        }
        for (place, text) in [(0, "8"), (0, "One"), (1, "8")] {
            let error = world.by_id_mut().set_field(entity, id, place, text);
            assert!(matches!(error, Err(ByIdError::NotSet { .. })), "{place} {text}: {error:?}");
        }
    }
    assert_eq!(world.state_hash(), before);
}

#[test]
fn a_default_is_inserted_where_there_is_one() {
    let mut world = World::new();
    let entity = world.spawn(());
    let (tag, mood) = (id::<Tag>(&mut world), id::<Mood>(&mut world));
    world.by_id_mut().insert_default(entity, tag).expect("a tag needs no value");
    assert!(world.has::<Tag>(entity));
    assert_eq!(world.by_id().fields(entity, tag).expect("it has it"), []);
    assert!(matches!(world.by_id_mut().insert_default(entity, mood), Err(ByIdError::NoDefault(_))));
    world.despawn(entity).expect("it lives");
    assert!(matches!(
        world.by_id_mut().insert_default(entity, tag),
        Err(ByIdError::NoSuchEntity(_))
    ));
    assert_eq!(world.check(), Ok(()));
}

#[test]
fn a_tag_is_made_by_its_own_default() {
    thread_local!(static MADE: Cell<u32> = const { Cell::new(0) });
    #[derive(Component)]
    struct Counted;
    impl Default for Counted {
        fn default() -> Self {
            MADE.set(MADE.get() + 1);
            Self
        }
    }
    let mut world = World::new();
    let (entity, tag) = (world.spawn(()), id::<Counted>(&mut world));
    world.by_id_mut().insert_default(entity, tag).expect("it has a default");
    assert!(world.has::<Counted>(entity));
    assert_eq!(MADE.get(), 1);
}

#[test]
fn components_without_known_fields_are_written_whole() {
    let mut world = World::new();
    let layout = std::alloc::Layout::new::<u16>();
    let gold = ComponentDescriptor::bytes("gold", layout);
    let gold = world.by_id_mut().register(gold).expect("the name is new");
    let purse = world.by_id_mut().spawn(&[(gold, &[1, 2])]).expect("it has two bytes");
    let fields = world.by_id().fields(purse, gold).expect("it has it");
    assert_eq!(fields[0].text.as_deref(), Some("the bytes [01, 02]"));
    assert!(world.by_id_mut().set_field(purse, gold, 0, "3").is_err());
}

#[test]
fn a_field_lies_where_its_offset_says() {
    #[derive(Component)]
    struct Pair(u8, u64);

    fn offsets<T: Component>(world: &mut World, value: T) -> Vec<Option<usize>> {
        let (entity, id) = (world.spawn(value), id::<T>(world));
        let fields = world.by_id().fields(entity, id).expect("there");
        fields.iter().map(|field| field.offset).collect()
    }

    let mut world = World::new();
    let (entity, component) = everything(&mut world);
    let fields = world.by_id().fields(entity, component).expect("there");
    let expected = [
        std::mem::offset_of!(Everything, number),
        std::mem::offset_of!(Everything, name),
        std::mem::offset_of!(Everything, place),
        std::mem::offset_of!(Everything, friend),
        std::mem::offset_of!(Everything, secret),
        std::mem::offset_of!(Everything, list),
    ];
    assert_eq!(fields.iter().map(|field| field.offset).collect::<Vec<_>>(), expected.map(Some));
    let pair = [std::mem::offset_of!(Pair, 0), std::mem::offset_of!(Pair, 1)];
    assert_eq!(offsets(&mut world, Pair(1, 2)), pair.map(Some));
    // In an enum that of the variant's field, if the compiler has to keep it behind the tag.
    let [variant, Some(field)] = offsets(&mut world, Mood::Angry(0.5))[..] else {
        panic!("a variant with one field")
    };
    assert_eq!(variant, None);
    assert!(field + size_of::<f32>() <= size_of::<Mood>());
}

#[test]
fn a_value_whose_fields_are_not_known_is_cut_off_as_well() {
    let mut world = World::new();
    let bytes = ComponentDescriptor::bytes("bytes", core::alloc::Layout::new::<[u8; 4096]>());
    let bytes = world.by_id_mut().register(bytes).expect("the name is free");
    let entity = world.by_id_mut().spawn(&[(bytes, &[7; 4096])]).expect("plain bytes");
    let fields = world.by_id().fields(entity, bytes).expect("there");
    let text = fields[0].text.as_ref().expect("it has bytes");
    assert!(text.starts_with("the bytes [07, 07") && text.ends_with(" ..."));
    assert!(text.len() < 1_100, "{} bytes", text.len());
}

/// What a program may call its own things: blanket methods with short names, names of the prelude, and
/// constants in lower case, which are patterns wherever a variable is declared.
#[expect(non_upper_case_globals, reason = "a program may name its constants so")]
mod own_names {
    use std::fmt::Debug;

    use formic_ecs::prelude::*;

    pub(super) trait Show {
        fn show(&self) -> std::string::String;
    }

    impl<T: Debug> Show for T {
        fn show(&self) -> std::string::String {
            format!("{self:?}")
        }
    }

    pub(super) trait Set {
        fn set<V>(&mut self, _: V, _: &str) {}
        fn hash_to<H>(&self, _: H) {}
    }

    impl<T> Set for T {}

    #[derive(Debug, HashState)]
    pub(super) struct Option(pub(super) std::string::String);
    pub(super) struct Vec;
    pub(super) struct String;
    pub(super) struct Result;

    #[derive(Component, Debug)]
    #[component(editable)]
    pub(super) struct Sign {
        pub(super) value: Option,
        pub(super) hasher: u8,
    }

    macro_rules! constants {
        ($($name:ident)*) => { $( pub(super) const $name: u8 = 1; )* };
    }
    constants! { value hasher emit place text map field_0 field_1 }

    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(editable)]
    pub(super) enum Mood {
        Calm,
        Angry { since: u8 },
    }

    #[derive(Component, Debug)]
    pub(super) struct Friend(#[component(entity)] pub(super) Entity);

    #[derive(Bundle)]
    pub(super) struct Imp {
        pub(super) mood: Mood,
        pub(super) friend: Friend,
    }

    #[derive(QueryData)]
    pub(super) struct ImpRow<'w> {
        pub(super) mood: &'w Mood,
        pub(super) friend: &'w Friend,
    }
}

#[test]
fn names_of_the_program_do_not_get_in_the_way_of_the_derive() {
    use own_names::{Friend, Imp, ImpRow, Mood, Option, Set, Show, Sign};
    let mut world = World::new();
    let sign = |text: &str| Sign { value: Option(text.into()), hasher: 7 };
    let entity = world.spawn(sign("north"));
    let component = id::<Sign>(&mut world);
    let texts = |world: &World| {
        let fields = world.by_id().fields(entity, component).expect("there");
        fields.into_iter().map(|field| field.text.expect("it is shown")).collect::<Vec<_>>()
    };
    assert_eq!(texts(&world), ["Option(\"north\")", "7"]);
    world.by_id_mut().set_field(entity, component, 1, "8").expect("a number");
    assert_eq!(texts(&world)[1], "8");
    let before = world.state_hash().value();
    world.get_mut::<Sign>(entity).expect("there").value.0.push('!');
    assert_ne!(world.state_hash().value(), before, "the whole value is hashed");
    let (_, _, _) = (own_names::Vec, own_names::String, own_names::Result);
    let mut other = sign("south");
    other.set(1, "2");
    other.hash_to(3);
    assert!(other.show().starts_with("Sign"));

    let constants = {
        use own_names::{emit, field_0, field_1, hasher, map, place, text, value};
        [value, hasher, emit, place, text, map, field_0, field_1]
    };
    assert_eq!(constants, [1; 8]);
    let mood = Mood::Angry { since: 3 };
    let imp = world.spawn(Imp { mood, friend: Friend(entity) });
    let row = world.query::<ImpRow<'_>>().iter().map(|row| (*row.mood, row.friend.0)).next();
    assert_eq!(row, Some((mood, entity)));
    let component = id::<Mood>(&mut world);
    world.by_id_mut().set_field(imp, component, 0, "Calm").expect("a variant without fields");
    assert_eq!(*world.get::<Mood>(imp).expect("there"), Mood::Calm);
}
