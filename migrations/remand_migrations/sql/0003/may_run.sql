-- Whether a step of a workflow may be in the queue now: not while a person holds the workflow; where it
-- failed fast, only what follows a failure ("after"). Parsed when made, not SET: queries inline it.
create or replace function remand.may_run(p_hold text, p_paused_at timestamptz, p_after text) returns boolean
language sql immutable parallel safe
  return p_paused_at is null and (p_hold is null or (p_hold = 'fail_fast' and p_after is not null));
