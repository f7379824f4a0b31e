import type { DatabaseSync } from 'node:sqlite'

// A retry is answered from what is stored with its key: a digest of the request, and the answer. What version 1.1 has remembered gets
// its answer here; it has no digest, because it is the creation of that animal. Version 1.1 may be started again and take over a key
// that has expired: it leaves the answer of the earlier request, which counts only while answered_at is created_at. The table is made
// anew without its reference to the animal, which may be removed.
//
// The triggers keep the inventory when an animal that it counts is changed or removed, by whatever program.
export default (database: DatabaseSync) => {
  const columns = database.prepare("select name from pragma_table_info('idempotency_keys')").all()
  if (!columns.some(({ name }) => name === 'answer')) database.exec(ADD_ANSWERS)
  database.exec(KEEP_ANSWERS + KEEP_INVENTORY)
}

const ADD_ANSWERS = `
  alter table idempotency_keys rename to old_idempotency_keys;
  drop index idempotency_keys_by_age;

  create table idempotency_keys (
    scope text not null,
    key text not null,
    animal_id integer not null,
    created_at integer not null,
    request text,
    answer text,
    answered_at integer,
    primary key (scope, key)
  ) strict, without rowid;

  insert into idempotency_keys (scope, key, animal_id, created_at)
  select scope, key, animal_id, created_at from old_idempotency_keys;

  drop table old_idempotency_keys;
  create index idempotency_keys_by_age on idempotency_keys (created_at);
`

const KEEP_ANSWERS = `
  update idempotency_keys set request = null, answered_at = created_at, answer = (
    select iif(status is null,
      json_object('id', id, 'name', name, 'categoryId', category_id),
      json_object('id', id, 'name', name, 'categoryId', category_id, 'status', status))
    from animals where id = animal_id)
  where answered_at is not created_at;
`

const KEEP_INVENTORY = `
  drop trigger if exists animals_changed;
  create trigger animals_changed after update of id, status on animals
  when (old.status is not new.status or old.id <> new.id)
    and min(old.id, new.id) <= (select last_id from inventory)
  begin
    update inventory set
      available = available - (old.id <= last_id and old.status is 'available')
        + (new.id <= last_id and new.status is 'available'),
      pending = pending - (old.id <= last_id and old.status is 'pending')
        + (new.id <= last_id and new.status is 'pending'),
      sold = sold - (old.id <= last_id and old.status is 'sold') + (new.id <= last_id and new.status is 'sold'),
      none = none - (old.id <= last_id and old.status is null) + (new.id <= last_id and new.status is null);
  end;

  drop trigger if exists animals_removed;
  create trigger animals_removed after delete on animals
  when old.id <= (select last_id from inventory)
  begin
    update inventory set
      available = available - (old.status is 'available'), pending = pending - (old.status is 'pending'),
      sold = sold - (old.status is 'sold'), none = none - (old.status is null);
  end;
`
