// Keeps the inventory when animals are changed or removed, by whatever program, with the same rows and the same rights as migration
// 006. PostgreSQL allows no list of columns for a trigger that sees all changed rows, so it skips a difference of zero.
export default `
  do $do$
  begin
    execute format($sql$
      create or replace function %1$I.count_changed_animals() returns trigger
      language plpgsql security definer set search_path = pg_catalog, pg_temp
      as $body$
      begin
        if tg_op = 'UPDATE' then
          insert into %1$I.inventory (available, pending, sold, none)
          select available, pending, sold, none
          from (
            select
              coalesce(sum(difference) filter (where status = 'available'), 0) as available,
              coalesce(sum(difference) filter (where status = 'pending'), 0) as pending,
              coalesce(sum(difference) filter (where status = 'sold'), 0) as sold,
              coalesce(sum(difference) filter (where status is null), 0) as none
            from (select 1 as difference, status from added union all select -1, status from gone) as changed
          ) as differences
          where (available, pending, sold, none) <> (0, 0, 0, 0);
        elsif tg_op = 'DELETE' then
          insert into %1$I.inventory (available, pending, sold, none)
          select
            -count(*) filter (where status = 'available'), -count(*) filter (where status = 'pending'),
            -count(*) filter (where status = 'sold'), -count(*) filter (where status is null)
          from gone
          having count(*) > 0;
        else
          -- Unlike a delete, it also empties the inventory for a transaction that does not see its newest rows.
          begin
            truncate %1$I.inventory;
          exception when object_in_use then
            -- The same statement truncates it.
            null;
          end;
        end if;

        -- As when animals are added.
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
      create or replace trigger animals_inventory_update after update on animals
        referencing old table as gone new table as added
        for each statement execute function count_changed_animals();
      create or replace trigger animals_inventory_delete after delete on animals
        referencing old table as gone for each statement execute function count_changed_animals();
      create or replace trigger animals_inventory_truncate after truncate on animals
        for each statement execute function count_changed_animals();
    exception when internal_error then
      null;
    end;
  end
  $do$;
`
