// Each statement that stores animals adds a row with their counts, and the inventory is the sum of all rows. So no creation changes a
// row that another one has changed: they would wait for each other, and while a transaction such as that of pg_dump is open, each
// would walk through all earlier versions of the row. One in 64 creations merges the rows that are there, so that they stay few. A
// primary key would nearly double the cost. Without one, logical replication needs the replica identity.
//
// A trigger counts, because instances of 1.0.0 and other programs store animals, too. They may have been granted rights on the other
// tables only, so the function has the rights of its owner.
//
// Citus refuses the trigger on a distributed table, with an internal error. Without it, the service counts the animals when it is
// asked.
export default `
  create table if not exists inventory (
    available bigint not null,
    pending bigint not null,
    sold bigint not null,
    none bigint not null
  );

  -- Fails if another program has a table with this name.
  select available, pending, sold, none from inventory limit 0;

  alter table inventory replica identity full;

  do $do$
  begin
    execute format($sql$
      create or replace function %1$I.count_added_animals() returns trigger
      language plpgsql security definer set search_path = pg_catalog, pg_temp
      as $body$
      begin
        insert into %1$I.inventory (available, pending, sold, none)
        select
          count(*) filter (where status = 'available'), count(*) filter (where status = 'pending'),
          count(*) filter (where status = 'sold'), count(*) filter (where status is null)
        from added
        having count(*) > 0;

        -- In other isolation levels, the merge would fail if another transaction merges at the same time.
        if random() * 64 < 1 and current_setting('transaction_isolation') = 'read committed' then
          with merged as (
            delete from %1$I.inventory
            where ctid = any (array(select ctid from %1$I.inventory for update skip locked))
            returning available, pending, sold, none)
          insert into %1$I.inventory (available, pending, sold, none)
          select sum(available), sum(pending), sum(sold), sum(none) from merged
          having count(*) > 0;
        end if;
        return null;
      end
      $body$
    $sql$, current_schema());

    begin
      create or replace trigger animals_inventory after insert on animals
        referencing new table as added for each statement execute function count_added_animals();
    exception when internal_error then
      null;
    end;
  end
  $do$;
`
