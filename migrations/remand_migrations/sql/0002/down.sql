-- The reverse of tables.sql, last change first.

alter function remand.refuse_change() reset search_path;

drop index remand.workflows_held;

update remand.history set event = 'reset_for_retry', from_state = 'error'
 where kind = 'step' and from_state = 'cancelled' and event = 'restart';
delete from remand.transition_rule where kind = 'step' and from_state = 'cancelled' and event = 'restart';
drop index remand.steps_conditional;
alter table remand.steps drop column after;
alter table remand.steps_archive drop column after;
alter table remand.workflows drop column conditional;
alter table remand.workflows_archive drop column conditional;
alter table remand.template_steps drop column after;

alter table remand.template_steps drop column input;
drop table remand.queue_service;
