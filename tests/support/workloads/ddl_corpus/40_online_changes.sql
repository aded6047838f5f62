-- # Online schema changes: gh-ost, pt-online-schema-change, lhm, and instant changes

USE shop;

create /* gh-ost */ table `shop`.`_orders_ghc` (
			id bigint unsigned auto_increment,
			last_update timestamp not null DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
			hint varchar(64) charset ascii not null,
			value varchar(4096) charset ascii not null,
			primary key(id),
			unique key hint_uidx(hint)
		) comment='binarrow'
		auto_increment=256;
create /* gh-ost */ table `shop`.`_products_gho` like `shop`.`products`;
alter /* gh-ost */ table `shop`.`_products_gho` ADD COLUMN stock INT NOT NULL DEFAULT 0, MODIFY title VARCHAR(300) NOT NULL;
alter /* gh-ost */ table `shop`.`_products_gho` AUTO_INCREMENT=4711;
create /* gh-ost */ table `shop`.`_products_del` (
			id int auto_increment primary key
		) engine=InnoDB comment='ghost-cut-over-sentry';
drop /* gh-ost */ table if exists `shop`.`_products_del`;
SET FOREIGN_KEY_CHECKS = 0;
rename /* gh-ost */ table `shop`.`products` to `shop`.`_products_del`, `shop`.`_products_gho` to `shop`.`products`;
SET FOREIGN_KEY_CHECKS = 1;
drop /* gh-ost */ table if exists `shop`.`_orders_ghc`;
ALTER TABLE products ADD restock_at DATE NULL AFTER stock;

CREATE TABLE `shop`.`_customers_new` LIKE `shop`.`customers`;
ALTER TABLE `shop`.`_customers_new` ADD COLUMN segment ENUM('a','b','c') NULL, DROP COLUMN credit, ADD INDEX ix_segment (segment);
CREATE TRIGGER `pt_osc_shop_customers_del` AFTER DELETE ON `shop`.`customers` FOR EACH ROW DELETE IGNORE FROM `shop`.`_customers_new` WHERE `_customers_new`.`id` <=> OLD.`id`;
DROP TRIGGER IF EXISTS `shop`.`pt_osc_shop_customers_del`;
SET foreign_key_checks = 0;
RENAME TABLE `shop`.`customers` TO `shop`.`_customers_old`, `shop`.`_customers_new` TO `shop`.`customers`;
SET foreign_key_checks = 1;
ALTER TABLE customers MODIFY segment ENUM('a','b','c','d') NOT NULL DEFAULT 'a', ADD loyalty INT NULL;

USE app;
CREATE TABLE `lhmn_users` LIKE `users`;
ALTER TABLE `lhmn_users` ADD COLUMN `nick` VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
ALTER TABLE `lhmn_users` ADD UNIQUE INDEX `index_lhm_nick` (`nick`);
SET FOREIGN_KEY_CHECKS = 0;
rename table `users` to `lhma_2026_11_22_users`, `lhmn_users` to `users`;
DROP TABLE `lhma_2026_11_22_users`;
SET FOREIGN_KEY_CHECKS = 1;

-- the instant ones
CREATE TABLE quick (id INT PRIMARY KEY, a INT, b VARCHAR(10)) CHARSET=latin1;
ALTER TABLE quick ADD COLUMN c INT DEFAULT 7, ALGORITHM=INSTANT;
ALTER TABLE quick ALGORITHM=INSTANT, ADD COLUMN d VARCHAR(20) CHARACTER SET utf8mb4 DEFAULT 'x';
ALTER TABLE quick ADD COLUMN e INT FIRST, ALGORITHM = INSTANT;
ALTER TABLE quick DROP COLUMN c, ALGORITHM INSTANT;
ALTER TABLE quick ADD COLUMN g INT AFTER a, ALGORITHM=INSTANT, LOCK=DEFAULT;
ALTER TABLE quick MODIFY b VARCHAR(20), ALGORITHM=INPLACE, LOCK=NONE;
-- only: mariadb
ALTER TABLE quick ADD KEY (b), ALGORITHM=NOCOPY;
-- only: mysql
ALTER TABLE quick ADD KEY (b), ALGORITHM=INPLACE;
-- only: mysql
ALTER TABLE quick ALGORITHM=COPY, WITH VALIDATION, ADD v INT AS (a + 1);
-- only: mariadb
ALTER ONLINE TABLE quick ADD COLUMN h INT;
-- only: mariadb
ALTER TABLE quick WAIT 5 ADD COLUMN i INT;
-- only: mariadb
ALTER IGNORE TABLE quick NOWAIT ADD UNIQUE (a);
-- only: mariadb
ALTER ONLINE IGNORE TABLE IF EXISTS quick ADD COLUMN IF NOT EXISTS i BIGINT, ADD COLUMN IF NOT EXISTS j BIGINT, DROP COLUMN IF EXISTS zz, DROP COLUMN IF EXISTS h;
-- only: mariadb
ALTER TABLE quick MODIFY COLUMN IF EXISTS zz INT, CHANGE COLUMN IF EXISTS yy xx INT, CHANGE COLUMN IF EXISTS j jj SMALLINT UNSIGNED;
-- only: mariadb
ALTER TABLE quick ADD INDEX IF NOT EXISTS b (b), ADD INDEX IF NOT EXISTS new_one (b, a), DROP INDEX IF EXISTS nothing, DROP FOREIGN KEY IF EXISTS nothing, DROP CONSTRAINT IF EXISTS nothing;
-- only: mariadb
ALTER TABLE quick ADD UNIQUE KEY IF NOT EXISTS new_one (jj), ADD UNIQUE KEY IF NOT EXISTS (jj), ALTER COLUMN IF EXISTS zz SET DEFAULT 3, RENAME COLUMN IF EXISTS zz TO z, RENAME INDEX IF EXISTS nothing TO something;
-- only: mariadb
ALTER TABLE IF EXISTS no_such_table ADD COLUMN x INT;
-- only: mariadb
RENAME TABLE IF EXISTS no_such_table TO yet_another, quick TO quicker;
-- only: mariadb
RENAME TABLES quicker WAIT 3 TO quick;
-- only: mariadb
CREATE INDEX IF NOT EXISTS new_one ON quick (g);
-- only: mariadb
CREATE OR REPLACE INDEX new_one ON quick (g, id);
-- only: mariadb
DROP INDEX IF EXISTS nothing ON quick;
-- only: mariadb
DROP INDEX IF EXISTS new_one ON quick WAIT 2;
-- only: mariadb
ALTER TABLE quick DROP PRIMARY KEY, ADD CONSTRAINT pk PRIMARY KEY IF NOT EXISTS (id, a);
-- only: mariadb
CREATE OR REPLACE TABLE quick (id INT UNSIGNED, t TEXT COMPRESSED, v VARCHAR(50) COMPRESSED=zlib, u UUID, i6 INET6, i4 INET4, tt TEXT, w VARCHAR(50), UNIQUE (tt), UNIQUE KEY h USING HASH (w)) CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
-- only: mariadb
ALTER TABLE quick MODIFY u UUID NOT NULL, ADD PRIMARY KEY (u), MODIFY t TEXT NULL, DROP INDEX tt;
-- only: mariadb
CREATE OR REPLACE TABLE quick LIKE articles;
-- only: mariadb
CREATE OR REPLACE TABLE quick AS SELECT 1 AS one, 'two' AS two, 3.0 AS three;
-- only: mariadb
ALTER TABLE quick MODIFY one INT NULL, RENAME COLUMN two TO `deux`;
