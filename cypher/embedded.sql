-- What the embedded engine needs beyond the schema's Cypher: its full-text index is made in SQL, one statement a line.
CREATE VERTEX TYPE Entity IF NOT EXISTS
CREATE PROPERTY Entity.name IF NOT EXISTS STRING
CREATE PROPERTY Entity.scope_token IF NOT EXISTS STRING
CREATE INDEX entity_name IF NOT EXISTS ON Entity (name, scope_token) FULL_TEXT
