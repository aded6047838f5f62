-- # Generated and invisible columns, spatial and vector columns, functional and other keys

USE desk;

CREATE TABLE people (
  id INT NOT NULL AUTO_INCREMENT,
  first VARCHAR(50) NOT NULL, last VARCHAR(50) NOT NULL,
  full_name VARCHAR(101) GENERATED ALWAYS AS (CONCAT(first, ' ', last)) VIRTUAL,
  initials CHAR(2) AS (CONCAT(LEFT(first,1), LEFT(last,1))) STORED COMMENT 'two letters',
  doc JSON,
  city VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci AS (JSON_UNQUOTE(JSON_EXTRACT(doc, '$.city'))) VIRTUAL,
  secret VARCHAR(20) INVISIBLE,
  PRIMARY KEY (id),
  KEY city (city),
  UNIQUE KEY (initials, id)
);
ALTER TABLE people MODIFY full_name VARCHAR(110) GENERATED ALWAYS AS (CONCAT(last, ', ', first)) VIRTUAL;
ALTER TABLE people CHANGE full_name sort_name VARCHAR(110) AS (CONCAT(last, first)) VIRTUAL FIRST;
ALTER TABLE people DROP COLUMN city, ADD born DATE INVISIBLE DEFAULT '2000-01-01', ADD age2 INT AS (YEAR(born)) VIRTUAL INVISIBLE;
ALTER TABLE people MODIFY initials CHAR(2) NOT NULL;
ALTER TABLE people MODIFY secret VARCHAR(20), MODIFY doc JSON INVISIBLE;
ALTER TABLE people ADD COLUMN wide TEXT AS (REPEAT(first, 1000)) STORED AFTER last, ADD total DECIMAL(10,2) AS (1 + 1) UNIQUE;
ALTER TABLE people ADD COLUMN hidden_first INT NULL INVISIBLE FIRST, ADD COLUMN stamp TIMESTAMP NULL INVISIBLE COMMENT 'not shown';
-- only: mysql
ALTER TABLE people ALTER COLUMN stamp SET VISIBLE, ALTER COLUMN last SET INVISIBLE;
-- only: mysql
ALTER TABLE people ADD KEY expr ((UPPER(last))), ADD UNIQUE KEY mixed (id, (CAST(doc->>'$.x' AS UNSIGNED)) DESC), ADD INDEX ((LENGTH(first))), ADD INDEX ((LENGTH(last)));
-- only: mysql
ALTER TABLE people ADD INDEX multi ((CAST(doc->'$.tags' AS CHAR(20) ARRAY)));
-- only: mysql
ALTER TABLE people ALTER INDEX expr INVISIBLE, DROP INDEX multi, RENAME INDEX functional_index TO fx;
-- only: mysql
ALTER TABLE people DROP KEY expr, DROP KEY mixed, DROP KEY fx, DROP KEY functional_index_2;
-- only: mysql
ALTER TABLE people ADD COLUMN v VECTOR(3) NULL, ADD COLUMN v2 VECTOR, ADD COLUMN e INT COLUMN_FORMAT DYNAMIC STORAGE DISK;
-- only: mysql
ALTER TABLE people ADD COLUMN d1 DATE DEFAULT (DATE '2020-01-01' + INTERVAL 1 YEAR), ADD COLUMN u BINARY(16) DEFAULT (UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db'));
-- only: mysql
ALTER TABLE people ADD CONSTRAINT c9 CHECK (first <> '') NOT ENFORCED;
-- only: mysql
ALTER TABLE people ALTER CHECK c9 ENFORCED, ALTER COLUMN first SET DEFAULT 'x';
-- only: mysql
ALTER TABLE people ALTER CONSTRAINT c9 NOT ENFORCED;
-- only: mysql
ALTER TABLE people DROP CHECK c9, SECONDARY_ENGINE = NULL;
-- only: mysql
ALTER TABLE people ADD COLUMN p POINT NOT NULL SRID 4326 INVISIBLE, ADD COLUMN g GEOMCOLLECTION, ALTER COLUMN first SET DEFAULT ('x');
-- only: mysql
ALTER TABLE people DROP COLUMN p, ADD UNIQUE INDEX inv (last) INVISIBLE, DROP CONSTRAINT `initials`;
-- only: mysql
SET SESSION sql_generate_invisible_primary_key = ON;
-- only: mysql
CREATE TABLE without_key (a INT, b VARCHAR(10));
-- only: mysql
ALTER TABLE without_key ADD COLUMN c INT FIRST, ADD UNIQUE (a);
-- only: mysql
CREATE TABLE without_key_2 LIKE without_key;
-- only: mysql
CREATE TABLE without_key_3 AS SELECT a, b FROM without_key;
-- only: mysql
ALTER TABLE without_key DROP PRIMARY KEY, DROP COLUMN my_row_id, ADD PRIMARY KEY (c);
-- only: mysql
ALTER TABLE without_key_2 ALTER COLUMN my_row_id SET VISIBLE;
-- only: mysql
SET SESSION sql_generate_invisible_primary_key = OFF;
-- only: mysql
CREATE TABLE from_values AS SELECT * FROM (VALUES ROW(1,'a'), ROW(2,'b')) AS v (n, t);
-- only: mariadb
ALTER TABLE people ADD COLUMN p1 INT AS (LENGTH(first)) PERSISTENT, ADD COLUMN v VECTOR(4) NOT NULL DEFAULT 0x00000000000000000000000000000000, ADD VECTOR INDEX (v);
-- only: mariadb
ALTER TABLE people ALTER INDEX initials IGNORED, DROP COLUMN p1, ADD KEY ig (last) NOT IGNORED;
-- only: mariadb
-- fails
ALTER TABLE people ADD CONSTRAINT last_once UNIQUE (last), DROP CONSTRAINT ig2, ADD UNIQUE (last, first);
-- only: mariadb
ALTER TABLE people ADD CONSTRAINT last_once UNIQUE (last), ADD UNIQUE (last, first);
-- only: mariadb
ALTER TABLE people DROP CONSTRAINT last_once, ADD SYSTEM VERSIONING;
-- only: mariadb
SET SESSION system_versioning_alter_history = KEEP;
-- only: mariadb
ALTER TABLE people ADD COLUMN more INT, DROP COLUMN secret;
-- only: mariadb
ALTER TABLE people DROP SYSTEM VERSIONING;
-- only: mariadb
CREATE TABLE contracts (id INT, price DECIMAL(10,2), valid_from DATE, valid_to DATE, PERIOD FOR validity (valid_from, valid_to), rs TIMESTAMP(6) GENERATED ALWAYS AS ROW START INVISIBLE, re TIMESTAMP(6) GENERATED ALWAYS AS ROW END INVISIBLE, PERIOD FOR SYSTEM_TIME (rs, re), PRIMARY KEY (id, validity WITHOUT OVERLAPS)) WITH SYSTEM VERSIONING;
-- only: mariadb
ALTER TABLE contracts ADD COLUMN note TEXT WITHOUT SYSTEM VERSIONING, ADD COLUMN kept VARCHAR(5) WITH SYSTEM VERSIONING;
-- only: mariadb
ALTER TABLE contracts DROP PERIOD FOR validity, DROP PRIMARY KEY, ADD PRIMARY KEY (id);
-- only: mariadb
CREATE TABLE plain (a INT, b TEXT) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME (PARTITION h HISTORY, PARTITION c CURRENT);
-- only: mariadb
ALTER TABLE plain ADD COLUMN c INT FIRST, ADD UNIQUE (a), ADD UNIQUE (b);
-- only: mariadb
CREATE TABLE long_keys (a TEXT, b BLOB, c VARCHAR(5000) CHARACTER SET utf8mb4, UNIQUE (a), UNIQUE KEY (b, a(10)), UNIQUE (c), KEY (c(20)));
-- only: mariadb
ALTER TABLE long_keys ADD id INT PRIMARY KEY FIRST, DROP INDEX a;
-- only: mariadb
ALTER TABLE long_keys MODIFY c VARCHAR(100) CHARACTER SET utf8mb4;
-- only: mariadb
CREATE SEQUENCE numbers_of_tickets START WITH 100 INCREMENT BY 10;
-- only: mariadb
ALTER SEQUENCE numbers_of_tickets RESTART 500;
-- only: mariadb
RENAME TABLE numbers_of_tickets TO ticket_numbers;
-- only: mariadb
ALTER TABLE people ADD COLUMN nr BIGINT DEFAULT NEXT VALUE FOR ticket_numbers;
-- only: mariadb
ALTER TABLE people DROP COLUMN nr;
-- only: mariadb
DROP SEQUENCE ticket_numbers;
-- only: mariadb
CREATE TABLE from_values AS WITH v (n, t) AS (VALUES (1,'a'),(2,'b')) SELECT * FROM v;
-- only: mariadb
CREATE TABLE attributes (a INT NOT NULL DEFAULT (1 + 2), b VARCHAR(10) DEFAULT UUID(), c INT CHECK (c > 0), d TIMESTAMP DEFAULT CURRENT_TIMESTAMP() ON UPDATE NOW(), e INT DEFAULT NULL, KEY (a)) ENGINE=InnoDB PAGE_COMPRESSED=1 ENCRYPTED=NO TRANSACTIONAL=0;
ALTER TABLE offices ADD route LINESTRING NULL, ADD parts MULTIPOLYGON NULL, MODIFY area GEOMETRY, ADD many MULTIPOINT, ADD lines_ MULTILINESTRING, ADD all_ GEOMETRYCOLLECTION;
ALTER TABLE offices DROP INDEX location, ADD SPATIAL INDEX sp_location (location);
ALTER TABLE offices CHANGE location place POINT NOT NULL, RENAME INDEX sp_location TO place;
ALTER TABLE offices DROP COLUMN place;
-- fails
CREATE SPATIAL INDEX sp ON offices (area);
ALTER TABLE offices MODIFY area POLYGON NOT NULL, ADD SPATIAL KEY sp (area);
CREATE FULLTEXT INDEX ft_name ON offices (name);
ALTER TABLE offices ADD FULLTEXT (name);
ALTER TABLE offices ADD FULLTEXT KEY `second, longer` (name) COMMENT 'x';
ALTER TABLE tickets DROP INDEX ft_subject;
ALTER TABLE tickets ADD COLUMN ref CHAR(36) NOT NULL DEFAULT '' FIRST, ADD COLUMN z INT AFTER ref, ADD COLUMN y INT AFTER z, MODIFY body LONGTEXT AFTER ref;
ALTER TABLE tickets MODIFY z BIGINT AFTER y, MODIFY y BIGINT FIRST, DROP COLUMN ref;
ALTER TABLE tickets CHANGE z y INT, CHANGE y z INT;
ALTER TABLE tickets ADD COLUMN k1 INT, ADD COLUMN k2 INT, ADD KEY k12 (k1, k2), ADD KEY k21 (k2, k1), ADD UNIQUE KEY uk (k1);
ALTER TABLE tickets DROP COLUMN k1;
ALTER TABLE tickets ADD COLUMN k1 VARCHAR(100), DROP KEY k21, ADD KEY k21 (k1(20));
ALTER TABLE tickets MODIFY k1 VARCHAR(20);
ALTER TABLE tickets MODIFY k1 TEXT, DROP KEY k21;
ALTER TABLE tickets ADD KEY k21 (k1(20));
ALTER TABLE tickets MODIFY k1 VARCHAR(15);

-- Keys whose order and prefixes servers make of more than the keys themselves.
CREATE TABLE key_order (a INT, b INT, c ENUM('xy', 'z') CHARACTER SET latin1, UNIQUE y (b), UNIQUE x (a), UNIQUE c (c));
ALTER TABLE key_order ADD PRIMARY KEY (a);
ALTER TABLE key_order COMMENT 'sorted by MySQL only';
ALTER TABLE key_order MODIFY c VARCHAR(30);
CREATE TABLE key_order_2 LIKE key_order;
DROP TABLE key_order, key_order_2;
