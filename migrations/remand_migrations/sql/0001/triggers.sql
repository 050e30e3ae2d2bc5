CREATE TRIGGER dead_letters_counted_new AFTER INSERT ON remand.dead_letters
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION remand.count_letters();

CREATE TRIGGER dead_letters_counted_changed AFTER UPDATE ON remand.dead_letters
  REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION remand.count_letters();

CREATE TRIGGER dead_letters_counted_gone AFTER DELETE ON remand.dead_letters
  REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION remand.count_letters();
