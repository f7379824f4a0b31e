export const INVENTORY_TRIGGER = 'animals_inventory'

// The counts are spread over slots, because transactions that change the same row wait for each other. A connection always uses the
// same slot, so no two of them can deadlock. A trigger counts, because instances of 1.0.0 and other programs store animals, too.
// They may have been granted rights on the other tables only, so the function has the rights of its owner.
//
// Citus refuses the trigger on a distributed table, with an internal error. Without it, the service counts the animals when it is
// asked.
export default `
  create table if not exists inventory (
    slot integer primary key,
    available bigint not null,
    pending bigint not null,
    sold bigint not null,
    none bigint not null
  );

  do $do$
  begin
    execute format($sql$
      create or replace function %1$I.count_added_animals() returns trigger
      language plpgsql security definer set search_path = pg_catalog, pg_temp
      as $body$
      begin
        insert into %1$I.inventory as kept (slot, available, pending, sold, none)
        select pg_backend_pid() %% 32,
          count(*) filter (where status = 'available'), count(*) filter (where status = 'pending'),
          count(*) filter (where status = 'sold'), count(*) filter (where status is null)
        from added
        having count(*) > 0
        on conflict (slot) do update set
          available = kept.available + excluded.available, pending = kept.pending + excluded.pending,
          sold = kept.sold + excluded.sold, none = kept.none + excluded.none;
        return null;
      end
      $body$
    $sql$, current_schema());

    begin
      create or replace trigger ${INVENTORY_TRIGGER} after insert on animals
        referencing new table as added for each statement execute function count_added_animals();
    exception when internal_error then
      null;
    end;
  end
  $do$;
`
