alter table remand.schema_version drop column serves;
