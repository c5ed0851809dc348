//! Worlds.

use core::alloc::Layout;
use std::sync::Arc;

use formic_ecs::{
    ChildOf, ComponentDescriptor, ComponentId, DynamicQuery, Entity, RelationError, RestoreError,
    Snapshot,
};
use parking_lot::{Mutex, MutexGuard};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};

use crate::error::{
    BadDataError, FormicError, NoSuchComponentError, NoSuchEntityError, by_id, failed, no_entity,
};
use crate::lease::{Book, Lease, bytes_of_entities, take};

/// A world, and what is lent of it.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) world: formic_ecs::World,
    pub(crate) book: Book,
}

impl State {
    pub(crate) fn name_of(&self, id: ComponentId) -> String {
        self.world.component_info(id).map_or_else(|_| String::new(), |info| info.name().to_string())
    }

    fn id(&self, name: &str) -> PyResult<ComponentId> {
        self.world.component_by_name(name).ok_or_else(|| {
            NoSuchComponentError::new_err(format!("the world has no component {name}"))
        })
    }

    /// The bytes of a value.
    fn size(&self, id: ComponentId) -> usize {
        self.world.component_info(id).map_or(0, |info| info.layout().size())
    }
}

fn entity_of(bits: u64) -> PyResult<Entity> {
    Entity::from_bits(bits)
        .ok_or_else(|| NoSuchEntityError::new_err(format!("{bits:#x} is the handle of no entity")))
}

fn entities_of(py: Python<'_>, entities: &PyBuffer<u64>) -> PyResult<Vec<Entity>> {
    entities.to_vec(py)?.into_iter().map(entity_of).collect()
}

/// A world of entities; the values of their components are bytes.
///
/// No Python object is made or dropped while the state is locked: a collection of garbage may end a
/// lease, which locks it.
#[pyclass(frozen, module = "formic._formic")]
#[derive(Debug, Default)]
pub(crate) struct World {
    state: Arc<Mutex<State>>,
}

impl World {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// For changes of structure.
    fn lock_free(&self) -> PyResult<MutexGuard<'_, State>> {
        let state = self.lock();
        state.book.expect_none()?;
        Ok(state)
    }

    /// For changes of a component that all of them have.
    fn lock_all(
        &self,
        py: Python<'_>,
        entities: &PyBuffer<u64>,
        component: &str,
    ) -> PyResult<(MutexGuard<'_, State>, ComponentId, Vec<Entity>)> {
        let state = self.lock_free()?;
        let (id, entities) = (state.id(component)?, entities_of(py, entities)?);
        for &entity in &entities {
            state.world.by_id().is_enabled(entity, id).map_err(by_id)?;
        }
        Ok((state, id, entities))
    }
}

#[pymethods]
impl World {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn register(
        &self,
        name: &str,
        size: usize,
        align: usize,
        enableable: bool,
        tracked: bool,
    ) -> PyResult<()> {
        let wrong =
            |error: &dyn core::fmt::Display| FormicError::new_err(format!("{name}: {error}"));
        let layout = Layout::from_size_align(size, align).map_err(|error| wrong(&error))?;
        let mut descriptor = ComponentDescriptor::bytes(name.to_owned(), layout);
        if enableable {
            descriptor = descriptor.enableable();
        }
        if tracked {
            descriptor = descriptor.tracked();
        }
        let registered = self.lock_free()?.world.by_id_mut().register(descriptor);
        registered.map(drop).map_err(failed)
    }

    /// Spawns `count` entities; each component with the bytes of as many values.
    fn spawn<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        values: Vec<(String, PyBuffer<u8>)>,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        let mut state = self.lock_free()?;
        let mut columns = Vec::with_capacity(values.len());
        for (name, bytes) in &values {
            columns.push((state.id(name)?, bytes.to_vec(py)?));
        }
        let columns: Vec<_> = columns.iter().map(|(id, bytes)| (*id, &**bytes)).collect();
        let entities = state.world.by_id_mut().spawn_batch(&columns, count).map_err(by_id)?;
        drop(state);
        Ok(PyByteArray::new(py, &bytes_of_entities(&entities)))
    }

    /// Despawns all, or none if one is not in the world.
    fn despawn(&self, py: Python<'_>, entities: PyBuffer<u64>) -> PyResult<()> {
        let mut state = self.lock_free()?;
        let entities = entities_of(py, &entities)?;
        for &entity in &entities {
            state.world.place_of(entity).map_err(no_entity)?;
        }
        for entity in entities {
            // Another one may have taken it along, as a parent does its children.
            _ = state.world.despawn(entity);
        }
        Ok(())
    }

    /// Inserts a component into all, or into none if one is not in the world.
    fn insert(
        &self,
        py: Python<'_>,
        entities: PyBuffer<u64>,
        component: &str,
        values: PyBuffer<u8>,
    ) -> PyResult<()> {
        let mut state = self.lock_free()?;
        let id = state.id(component)?;
        let (size, entities) = (state.size(id), entities_of(py, &entities)?);
        let values = values.to_vec(py)?;
        if values.len() != size * entities.len() {
            return Err(FormicError::new_err(format!("{component}: a value for each entity")));
        }
        for &entity in &entities {
            state.world.place_of(entity).map_err(no_entity)?;
        }
        for (place, entity) in entities.into_iter().enumerate() {
            let value = &values[place * size..][..size];
            state.world.by_id_mut().insert(entity, id, value).map_err(by_id)?;
        }
        Ok(())
    }

    /// Removes a component from all, or from none if one does not have it.
    fn remove(&self, py: Python<'_>, entities: PyBuffer<u64>, component: &str) -> PyResult<()> {
        let (mut state, id, entities) = self.lock_all(py, &entities, component)?;
        for entity in entities {
            // One that stands in the list twice has lost it already.
            _ = state.world.by_id_mut().remove(entity, id);
        }
        Ok(())
    }

    /// Switches a component on or off for all, or for none if one does not have it.
    fn set_enabled(
        &self,
        py: Python<'_>,
        entities: PyBuffer<u64>,
        component: &str,
        enabled: bool,
    ) -> PyResult<()> {
        let (mut state, id, entities) = self.lock_all(py, &entities, component)?;
        for entity in entities {
            state.world.by_id_mut().set_enabled(entity, id, enabled).map_err(by_id)?;
        }
        Ok(())
    }

    fn is_enabled(&self, entity: u64, component: &str) -> PyResult<bool> {
        let state = self.lock();
        let id = state.id(component)?;
        state.world.by_id().is_enabled(entity_of(entity)?, id).map_err(by_id)
    }

    fn has(&self, entity: u64, component: &str) -> PyResult<bool> {
        let state = self.lock();
        let (id, entity) = (state.id(component)?, entity_of(entity)?);
        state.world.place_of(entity).map_err(no_entity)?;
        Ok(state.world.by_id().has(entity, id))
    }

    fn get<'py>(
        &self,
        py: Python<'py>,
        entity: u64,
        component: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.lock();
        let id = state.id(component)?;
        state.book.expect_free(id, false, component)?;
        let value = state.world.by_id().get(entity_of(entity)?, id).map_err(by_id)?.to_vec();
        drop(state);
        Ok(PyBytes::new(py, &value))
    }

    fn set(
        &self,
        py: Python<'_>,
        entity: u64,
        component: &str,
        value: PyBuffer<u8>,
    ) -> PyResult<()> {
        let mut state = self.lock();
        let id = state.id(component)?;
        state.book.expect_free(id, true, component)?;
        let (size, value) = (state.size(id), value.to_vec(py)?);
        if value.len() != size {
            return Err(FormicError::new_err(format!("{component} has {size} bytes")));
        }
        let place = state.world.by_id_mut().get_mut(entity_of(entity)?, id).map_err(by_id)?;
        place.copy_from_slice(&value);
        Ok(())
    }

    fn contains(&self, entity: u64) -> bool {
        Entity::from_bits(entity).is_some_and(|entity| self.lock().world.contains(entity))
    }

    fn count(&self) -> usize {
        self.lock().world.len()
    }

    fn set_parent(&self, child: u64, parent: Option<u64>) -> PyResult<()> {
        let mut state = self.lock_free()?;
        let parent = parent.map(entity_of).transpose()?;
        let set = state.world.relation_mut::<ChildOf>().set_parent(entity_of(child)?, parent);
        set.map_err(|error| match error {
            RelationError::NoSuchEntity(error) => no_entity(error),
            error => failed(error),
        })
    }

    fn parent(&self, child: u64) -> PyResult<Option<u64>> {
        let (state, child) = (self.lock(), entity_of(child)?);
        state.world.place_of(child).map_err(no_entity)?;
        Ok(state.world.relation::<ChildOf>().parent(child).map(Entity::to_bits))
    }

    fn children<'py>(&self, py: Python<'py>, parent: u64) -> PyResult<Bound<'py, PyByteArray>> {
        let (state, parent) = (self.lock(), entity_of(parent)?);
        state.world.place_of(parent).map_err(no_entity)?;
        let children = bytes_of_entities(state.world.relation::<ChildOf>().children(parent));
        drop(state);
        Ok(PyByteArray::new(py, &children))
    }

    fn clear(&self) -> PyResult<()> {
        self.lock_free()?.world.clear();
        Ok(())
    }

    fn version(&self) -> PyResult<u64> {
        let state = self.lock();
        state.book.expect_none_written()?;
        Ok(state.world.version())
    }

    fn check(&self) -> PyResult<()> {
        let state = self.lock();
        state.book.expect_none_written()?;
        state.world.check().map_err(failed)
    }

    fn state_hash(&self) -> PyResult<u64> {
        let state = self.lock();
        state.book.expect_none_written()?;
        Ok(state.world.state_hash().value())
    }

    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.lock();
        state.book.expect_none_written()?;
        let snapshot = state.world.snapshot().map_err(failed)?;
        drop(state);
        Ok(PyBytes::new(py, snapshot.as_bytes()))
    }

    fn restore(&self, bytes: &[u8]) -> PyResult<()> {
        let bad = |error: &dyn core::fmt::Display| BadDataError::new_err(error.to_string());
        let snapshot = Snapshot::from_bytes(bytes).map_err(|error| bad(&error))?;
        let mut state = self.lock_free()?;
        // Every world has it, but only from its first use on.
        state.world.relation_mut::<ChildOf>();
        state.world.restore(&snapshot).map(drop).map_err(|error| match error {
            RestoreError::UnknownComponent { component } => BadDataError::new_err(format!(
                "the snapshot has the component {component}: register it first"
            )),
            other => bad(&other),
        })
    }

    /// Lends columns: of the components in `columns`, with whether to write them, where `filters`
    /// hold: a kind and a component.
    fn lease(
        &self,
        py: Python<'_>,
        columns: Vec<(String, bool)>,
        filters: Vec<(String, String)>,
        since: u64,
    ) -> PyResult<Lease> {
        let state = self.lock();
        let mut builder = DynamicQuery::builder();
        let mut lent = Vec::with_capacity(columns.len());
        for (name, write) in &columns {
            let id = state.id(name)?;
            builder = if *write { builder.write(id) } else { builder.read(id) };
            lent.push((id, *write));
        }
        for (kind, name) in &filters {
            let id = state.id(name)?;
            builder = match &**kind {
                "with" => builder.with(id),
                "without" => builder.without(id),
                "disabled" => builder.disabled(id),
                "changed" => builder.changed(id),
                "added" => builder.added(id),
                _ => return Err(FormicError::new_err(format!("{kind} is no filter"))),
            };
        }
        let mut query = builder.build(&state.world).map_err(failed)?;
        drop(state);
        take(py, &self.state, &mut query, lent, since)
    }
}
