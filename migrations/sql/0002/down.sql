-- The reverse of tables.sql, last change first.

alter table remand.template_steps drop column input;
