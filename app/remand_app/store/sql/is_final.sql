-- Whether a workflow or a step in this state has ended. Parsed when made, not SET: queries inline it, and an
-- index on what is live (where state not in …) serves `not remand.is_final(state)`.
create or replace function remand.is_final(p_state text) returns boolean
language sql immutable parallel safe
  return p_state in ('complete', 'error', 'cancelled', 'resolved_manually');
