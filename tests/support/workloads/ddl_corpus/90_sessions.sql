-- # What a statement means depends on its session: sql_mode, character sets, default databases

USE app;

SET SESSION sql_mode = 'ANSI_QUOTES';
CREATE TABLE "quoted ""names""" ("id" INT NOT NULL, "select" VARCHAR(10) DEFAULT 'it''s', `tick` INT COMMENT 'say "x"', PRIMARY KEY ("id"));
ALTER TABLE "quoted ""names""" ADD COLUMN "e" ENUM('a"b', 'c') NOT NULL, ADD UNIQUE KEY "the key" ("select"(5));
ALTER TABLE "app"."quoted ""names""" RENAME COLUMN "tick" TO "tock", RENAME TO "quoted";
SET SESSION sql_mode = 'ANSI';
ALTER TABLE "quoted" ADD "x" REAL, ADD "y" CHAR(5), COMMENT 'in ANSI mode';
SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES';
ALTER TABLE quoted MODIFY e ENUM('a\', 'b\\', '\n') NOT NULL COMMENT 'c:\temp\';
CREATE TABLE backslashes (a ENUM('\', '\''', 'x') DEFAULT '\', b VARCHAR(5) COMMENT '\', c INT) COMMENT='\\';
SET SESSION sql_mode = '';
ALTER TABLE backslashes ADD d ENUM("double ""x""", "it's", 'a\tb\\'), ADD e VARCHAR(100) DEFAULT "a, b) COMMENT 'no'" COMMENT "yes";
ALTER TABLE backslashes MODIFY b VARCHAR(70000);
ALTER TABLE backslashes ADD f VARCHAR(300) CHARACTER SET binary, MODIFY e VARBINARY(80000);
ALTER TABLE backslashes ADD g CHAR(5) NOT NULL DEFAULT '', ADD h TIMESTAMP, ADD i TIMESTAMP NULL, ADD j VARCHAR(20) NOT NULL;
SET SESSION sql_mode = 'PAD_CHAR_TO_FULL_LENGTH,REAL_AS_FLOAT,IGNORE_SPACE,HIGH_NOT_PRECEDENCE';
CREATE TABLE reals (a REAL, b REAL UNSIGNED, c DOUBLE, d FLOAT, e ENUM('a ','b'), f REAL(5,2));
SET SESSION sql_mode = DEFAULT;
ALTER TABLE reals ADD g REAL, MODIFY a REAL NOT NULL;
-- only: mariadb
SET SESSION sql_mode = 'ORACLE';
-- only: mariadb
CREATE TABLE oracle_types ("id" NUMBER(10,0), "n" NUMBER, "v" VARCHAR2(20), "r" RAW(16), "c" CLOB, "b" BLOB, "d" DATE, PRIMARY KEY ("id"));
-- only: mariadb
ALTER TABLE oracle_types MODIFY "v" VARCHAR2(40) NOT NULL, ADD "d2" DATE;
-- only: mariadb
SET SESSION sql_mode = 'MAXDB';
-- only: mariadb
CREATE TABLE maxdb_types ("a" TIMESTAMP, "b" TIMESTAMP NULL);
-- only: mariadb
SET SESSION sql_mode = 'NO_FIELD_OPTIONS,MYSQL40';
-- only: mariadb
CREATE TABLE old_modes (a INT, b VARCHAR(5), KEY (b));
-- only: mariadb
SET SESSION sql_mode = DEFAULT;

-- first timestamps have defaults of their own
SET SESSION explicit_defaults_for_timestamp = OFF;
CREATE TABLE stamps (id INT, a TIMESTAMP, b TIMESTAMP DEFAULT '2000-01-01 00:00:01', c TIMESTAMP NULL, PRIMARY KEY (id));
ALTER TABLE stamps ADD d TIMESTAMP DEFAULT '2000-01-01 00:00:01', MODIFY c TIMESTAMP DEFAULT '2000-01-01 00:00:01', ADD e DATETIME;
ALTER TABLE stamps CHANGE b b2 TIMESTAMP NULL DEFAULT NULL;
SET SESSION explicit_defaults_for_timestamp = ON;
ALTER TABLE stamps ADD f TIMESTAMP, MODIFY c TIMESTAMP;
CREATE TABLE stamps_explicit (a TIMESTAMP, b TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);
SET SESSION explicit_defaults_for_timestamp = DEFAULT;

-- connection: gbk
USE app;
CREATE TABLE `商品` (`编号` INT PRIMARY KEY, `名称` VARCHAR(20) COMMENT '名字', `类` ENUM('甲','乙')) COMMENT='商品表';
ALTER TABLE `商品` ADD COLUMN `誠` INT COMMENT '誠', ADD COLUMN `傾斜` ENUM('誠\\','乗''') CHARACTER SET utf8mb4, RENAME COLUMN `名称` TO `名字`;
ALTER TABLE 商品 RENAME TO app.货物, COMMENT '货 "物"';
-- connection: sjis
USE app;
CREATE TABLE `表` (`能力` INT, `ソート` ENUM('表','ソ','能') CHARACTER SET utf8mb4) COMMENT '予定表';
-- connection: latin1
USE app;
CREATE TABLE `prüfung` (`größe` VARCHAR(10) COMMENT '€ und ÿ', e ENUM('é','ß') CHARACTER SET utf8mb4);
ALTER TABLE prüfung ADD COLUMN `naïve` ENUM('ñ') CHARACTER SET latin1, ADD straße CHAR(3) DEFAULT 'ä';
-- connection: cp1251
USE app;
CREATE TABLE `таблица` (`имя` VARCHAR(30) COMMENT 'имя №1');
-- connection: utf8mb3
ALTER TABLE app.`таблица` ADD COLUMN `лет` INT, ADD COLUMN app ENUM('ы') CHARACTER SET cp1251;
ALTER TABLE app.`表` DROP COLUMN `能力`;
DROP TABLE app.`表`, app.prüfung;
-- connection: utf8mb4
USE app;
CREATE TABLE emoji (e ENUM('😀','plain') CHARACTER SET utf8mb4, s SET('🎉','🎊') CHARACTER SET utf8mb4 NOT NULL);
ALTER TABLE emoji MODIFY e ENUM('😀','plain','🚀') CHARACTER SET utf8mb4 NOT NULL COMMENT '€';

-- collations that come from the session
SET SESSION collation_server = latin1_german1_ci;
CREATE DATABASE from_session;
CREATE TABLE from_session.t (a VARCHAR(5));
CREATE DATABASE from_charset CHARACTER SET utf8mb4;
CREATE TABLE from_charset.t (a VARCHAR(5), b VARCHAR(5) CHARACTER SET utf8mb3);
SET SESSION collation_server = DEFAULT;
USE from_session;
CREATE TABLE app.in_app (a VARCHAR(5));
CREATE TABLE here (a VARCHAR(5), b VARCHAR(5) CHARACTER SET utf8mb4);
ALTER TABLE app.in_app ADD b VARCHAR(6), ADD c VARCHAR(5) CHARACTER SET utf8mb4;
DROP DATABASE from_session;
-- the default database is gone
CREATE TABLE app.without_default (a VARCHAR(5));
ALTER TABLE from_charset.t ADD x VARCHAR(10);
-- only: mysql
SET SESSION default_collation_for_utf8mb4 = utf8mb4_general_ci;
-- only: mysql
CREATE TABLE app.utf8mb4_default (a VARCHAR(5) CHARACTER SET utf8mb4, b VARCHAR(5), c VARCHAR(5) COLLATE utf8mb4_bin) CHARACTER SET utf8mb4;
-- only: mysql
ALTER TABLE from_charset.t CONVERT TO CHARACTER SET utf8mb4;
-- only: mysql
CREATE DATABASE from_default_collation CHARACTER SET utf8mb4;
-- only: mysql
CREATE TABLE from_default_collation.t (a VARCHAR(5));
-- only: mysql
SET SESSION default_collation_for_utf8mb4 = DEFAULT;
-- only: mariadb
SET SESSION character_set_collations = 'utf8mb4=utf8mb4_unicode_ci,latin1=latin1_german2_ci';
-- only: mariadb
CREATE TABLE app.set_collations (a VARCHAR(5) CHARACTER SET utf8mb4, b VARCHAR(5) CHARACTER SET latin1, c VARCHAR(5) CHARACTER SET utf8mb3) CHARACTER SET utf8mb4;
-- only: mariadb
ALTER TABLE app.set_collations CONVERT TO CHARACTER SET latin1;
-- only: mariadb
CREATE DATABASE set_collations CHARACTER SET latin1;
-- only: mariadb
CREATE TABLE set_collations.t (a VARCHAR(5));
-- only: mariadb
SET SESSION character_set_collations = DEFAULT;

USE app;
-- errors that a log can hold
-- fails
DROP TABLE in_app, never_there;
CREATE TABLE IF NOT EXISTS in_app (z INT);
-- fails
ALTER TABLE in_app ADD COLUMN y INT, DROP COLUMN never_there;
-- fails
RENAME TABLE in_app TO moved, never_there TO x;
CREATE TABLE again (id INT PRIMARY KEY) SELECT 1 AS id;
DROP TABLE again;
-- only: mariadb
CREATE TABLE again (id BIGINT) ENGINE=MyISAM SELECT 2 AS id;
SET SESSION autocommit = 0;
CREATE TABLE in_transaction (id INT PRIMARY KEY);
INSERT INTO in_transaction VALUES (1);
ALTER TABLE in_transaction ADD COLUMN x INT;
COMMIT;
SET SESSION autocommit = 1;
LOCK TABLES in_transaction WRITE;
ALTER TABLE in_transaction ADD COLUMN y INT;
ALTER TABLE in_transaction RENAME TO in_lock;
UNLOCK TABLES;
-- only: mariadb
SET STATEMENT lock_wait_timeout = 5 FOR ALTER TABLE in_lock ADD COLUMN z INT;
