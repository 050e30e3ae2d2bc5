-- The smallest UUIDv7 of an instant: the bound of a partition that begins there.
create or replace function remand.uuid7_floor(p_at timestamptz) returns uuid
language sql immutable strict parallel safe
  return (lpad(to_hex((extract(epoch from p_at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid;
