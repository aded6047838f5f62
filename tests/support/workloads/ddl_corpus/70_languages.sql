-- # Characters of many languages; databases with defaults of their own

USE world;

ALTER TABLE cities ADD COLUMN straße VARCHAR(40) NULL, ADD COLUMN `город` VARCHAR(40) CHARACTER SET cp1251, ADD COLUMN `都市` VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci COMMENT 'name — 名前';
ALTER TABLE cities MODIFY kind ENUM('größe','naïve','日本','ü,ber','q''uote','back\\slash') CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL;
ALTER TABLE cities CHANGE `都市` `町` VARCHAR(50) CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci;
ALTER TABLE cities COMMENT = 'Städte, Orte, 町';
ALTER TABLE cities CHARACTER SET latin1;
ALTER TABLE cities ADD COLUMN l1 VARCHAR(10), ADD COLUMN l2 VARCHAR(10) COLLATE latin1_german1_ci, ADD COLUMN l3 ENUM('x','y'), ADD COLUMN l4 TEXT;
ALTER TABLE cities DEFAULT COLLATE utf8mb4_general_ci;
ALTER TABLE cities ADD g1 VARCHAR(10), CHARSET utf8mb4;
ALTER TABLE cities MODIFY l1 VARCHAR(10);
ALTER TABLE cities MODIFY name VARCHAR(100) CHARACTER SET utf16 NOT NULL, MODIFY code CHAR(2) CHARACTER SET utf32, MODIFY cyr VARCHAR(50) CHARACTER SET utf16le;
ALTER TABLE cities CONVERT TO CHARACTER SET utf8mb3;
ALTER TABLE cities CONVERT TO CHARSET utf8mb4 COLLATE utf8mb4_czech_ci;
CREATE TABLE words (
  id INT PRIMARY KEY,
  de VARCHAR(50) COLLATE utf8mb4_german2_ci,
  sv VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_swedish_ci,
  zh VARCHAR(50) CHARACTER SET gbk,
  zh2 VARCHAR(50) CHARACTER SET big5 COLLATE big5_bin,
  ko CHAR(20) CHARACTER SET euckr,
  ja TEXT CHARACTER SET eucjpms,
  ru TINYTEXT CHARACTER SET cp866,
  ar VARCHAR(20) CHARACTER SET cp1256,
  tr VARCHAR(20) CHARACTER SET latin5 COLLATE latin5_turkish_ci,
  he CHAR(10) CHARACTER SET hebrew,
  th CHAR(10) CHARACTER SET tis620 COLLATE tis620_thai_ci,
  b VARCHAR(20) CHARACTER SET binary,
  e ENUM('а','б','в') CHARACTER SET koi8r,
  s SET('一','二','三') CHARACTER SET gbk COLLATE gbk_bin
) CHARACTER SET latin2 COLLATE latin2_hungarian_ci;
ALTER TABLE words ADD hu VARCHAR(20), ADD hu2 ENUM('ő','b');
-- fails
ALTER TABLE words CONVERT TO CHARACTER SET utf8mb4;
ALTER TABLE words MODIFY e ENUM('а','б','в','г') CHARACTER SET utf8mb4 NOT NULL, MODIFY s SET('一','二','三','四') CHARACTER SET utf8mb4;
ALTER TABLE words CONVERT TO CHARACTER SET utf8mb4;
ALTER TABLE words MODIFY e ENUM('а','б','в','г','д') NOT NULL;
ALTER TABLE words MODIFY de VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, MODIFY sv VARCHAR(50) BINARY, MODIFY zh VARCHAR(50) CHARACTER SET gbk BINARY;
CREATE TABLE default_collations (a CHAR(1) CHARACTER SET latin1, b CHAR(1) CHARACTER SET utf8mb3, c CHAR(1) CHARACTER SET ucs2, d CHAR(1) CHARACTER SET utf8, e CHAR(1) CHARSET macroman, f CHAR(1) CHARACTER SET 'greek', g CHAR(1) CHARACTER SET "cp850", h CHAR(1) COLLATE 'utf8mb3_bin');
CREATE TABLE members_with_spaces (a ENUM('x  ','y ','z') CHARACTER SET latin1, b SET('', ' p','q ') CHARACTER SET utf8mb4, c ENUM('0x41', 'NULL', '\'', '"', '\n', '%') CHARACTER SET ascii, d ENUM(0x6162, x'6364', b'01100101') CHARACTER SET latin1);
ALTER TABLE members_with_spaces MODIFY a ENUM('x ','y','z','z9') CHARACTER SET utf8mb4;

CREATE DATABASE `straße.1` CHARACTER SET utf8mb4 COLLATE utf8mb4_german2_ci;
CREATE TABLE `straße.1`.`häuser` (nr SMALLINT UNSIGNED, zusatz CHAR(1), PRIMARY KEY (nr));
USE `straße.1`;
ALTER TABLE häuser ADD COLUMN `müll` ENUM('ja','nein') NOT NULL DEFAULT 'nein';
RENAME TABLE häuser TO world.houses;
ALTER TABLE world.houses ADD COLUMN owner VARCHAR(20), RENAME TO `häuser`;
DROP DATABASE `straße.1`;
USE world;
CREATE SCHEMA IF NOT EXISTS tmp_db DEFAULT COLLATE latin1_bin;
CREATE SCHEMA IF NOT EXISTS tmp_db DEFAULT COLLATE utf8mb4_bin;
CREATE TABLE tmp_db.t (a VARCHAR(5), b VARCHAR(5) CHARACTER SET utf8mb4);
ALTER SCHEMA tmp_db DEFAULT CHARACTER SET = 'utf8mb4';
ALTER TABLE tmp_db.t ADD c VARCHAR(5);
ALTER TABLE tmp_db.t CONVERT TO CHARACTER SET DEFAULT;
CREATE TABLE tmp_db.u (a VARCHAR(5), e ENUM('a','b'), j JSON);
USE tmp_db;
CREATE TABLE v LIKE world.cities;
CREATE TABLE w AS SELECT id, de, zh, CONCAT(de, zh) AS both_of, 1.5 AS n, NOW() AS t, CAST('x' AS BINARY(3)) AS bin FROM world.words;
RENAME TABLE tmp_db.v TO world.v, world.cities TO tmp_db.cities;
RENAME TABLE tmp_db.cities TO world.cities;
DROP TABLE u, world.v;
DROP SCHEMA IF EXISTS tmp_db;
-- the session has no database now
CREATE DATABASE tmp_db;
CREATE TABLE tmp_db.t (a VARCHAR(5) COLLATE utf8mb4_general_ci, b INT);
DROP DATABASE IF EXISTS tmp_db;
DROP DATABASE IF EXISTS never_there;
-- only: mariadb
CREATE OR REPLACE DATABASE tmp_db CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_as_ci COMMENT 'x';
-- only: mariadb
CREATE TABLE tmp_db.t (a VARCHAR(5), b VARCHAR(5) CHARACTER SET utf8mb3 COLLATE uca1400_ai_ci, c TEXT COLLATE utf8mb4_uca1400_swedish_ai_cs);
-- only: mariadb
CREATE OR REPLACE DATABASE tmp_db CHARACTER SET latin1;
-- only: mariadb
CREATE TABLE tmp_db.t (a VARCHAR(5));
-- only: mysql
CREATE DATABASE tmp_db CHARACTER SET utf8mb4 COLLATE utf8mb4_ja_0900_as_cs ENCRYPTION='N';
-- only: mysql
CREATE TABLE tmp_db.t (a VARCHAR(5), b VARCHAR(5) COLLATE utf8mb4_0900_as_ci, g CHAR(3) CHARACTER SET gb18030);
