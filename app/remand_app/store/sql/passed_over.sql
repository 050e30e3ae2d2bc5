-- How much of the time from p_from to p_to lies in these spans.
create or replace function remand.passed_over(p_spans tstzmultirange, p_from timestamptz, p_to timestamptz)
returns interval
language sql immutable begin atomic
  select coalesce(sum(upper(span.span) - lower(span.span)), interval '0')
    from unnest(p_spans * tstzmultirange(tstzrange(p_from, greatest(p_from, p_to)))) span(span);
end;
