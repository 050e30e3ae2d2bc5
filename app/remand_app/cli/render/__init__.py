"""How answers look to people: tables, facts, drawings, and the sentences that several nouns share."""
