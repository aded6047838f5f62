-- # A shop grows, in the hands of people at a prompt

USE shop;

ALTER TABLE customers ADD COLUMN phone varchar(32) DEFAULT NULL AFTER email;
alter table customers add phone2 varchar(32);
ALTER TABLE `customers` ADD `vat_id` VARCHAR(20) NULL DEFAULT NULL COMMENT 'EU VAT number' AFTER `name`;
ALTER TABLE shop.customers ADD COLUMN title ENUM('mr','ms','dr') NULL FIRST;
ALTER TABLE customers DROP phone2, DROP COLUMN title;
ALTER TABLE customers MODIFY name varchar(200) NOT NULL DEFAULT '';
ALTER TABLE customers CHANGE COLUMN newsletter wants_news tinyint(1) unsigned NOT NULL DEFAULT '1';
ALTER TABLE customers CHANGE phone phone varchar(40) CHARACTER SET ascii NULL;
ALTER TABLE customers MODIFY COLUMN email VARCHAR(255) NOT NULL;
ALTER TABLE customers DROP INDEX uq_email, ADD UNIQUE INDEX uq_email (email(100)), ADD KEY (phone);
ALTER TABLE customers ADD INDEX (name), ADD INDEX (name, email);
ALTER TABLE customers ADD COLUMN (
    street varchar(100) NOT NULL DEFAULT '',
    city varchar(60),
    zip char(10) CHARACTER SET latin1,
    country char(2) NOT NULL DEFAULT 'DE' COMMENT 'ISO 3166-1'
);
ALTER TABLE customers MODIFY country char(2) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'DE' AFTER street,
  MODIFY city varchar(80) FIRST;
ALTER TABLE customers ALTER COLUMN country SET DEFAULT 'FR', ALTER city DROP DEFAULT;
ALTER TABLE customers ALTER credit SET DEFAULT 10;
ALTER TABLE customers RENAME COLUMN zip TO postcode;
ALTER TABLE customers RENAME COLUMN city TO street, RENAME COLUMN street TO city;
ALTER TABLE customers RENAME INDEX ix_name TO idx_customers_name;
ALTER TABLE customers RENAME KEY idx_customers_name TO `idx customers.name`;
ALTER TABLE customers DROP KEY `idx customers.name`;
ALTER TABLE customers COMMENT = 'who buys; since 2019';
ALTER TABLE customers COMMENT '';
ALTER TABLE customers AUTO_INCREMENT = 1000, ROW_FORMAT=DYNAMIC, STATS_PERSISTENT=1;
ALTER TABLE customers ENGINE = InnoDB;
ALTER TABLE customers FORCE;
ALTER TABLE customers ORDER BY email;
ALTER TABLE customers DISABLE KEYS;
ALTER TABLE customers ENABLE KEYS;
ALTER TABLE customers MODIFY born DATETIME NULL, ADD COLUMN died DATE AFTER born;
ALTER TABLE customers MODIFY died year, MODIFY born date, ALGORITHM=COPY, LOCK=SHARED;

CREATE TABLE addresses (
  id INT UNSIGNED AUTO_INCREMENT,
  customer_id BIGINT UNSIGNED NOT NULL,
  kind ENUM('billing', 'shipping') NOT NULL DEFAULT 'billing',
  line1 VARCHAR(100) NOT NULL,
  line2 VARCHAR(100),
  lat DOUBLE PRECISION, lng DECIMAL(9,6),
  PRIMARY KEY (id),
  FOREIGN KEY (customer_id) REFERENCES customers (id) ON UPDATE CASCADE ON DELETE CASCADE
);
ALTER TABLE addresses ADD UNIQUE (customer_id, kind);
ALTER TABLE addresses ADD UNIQUE `one of a kind` USING BTREE (kind, line1(20) DESC);
ALTER TABLE addresses MODIFY id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT;
ALTER TABLE addresses ADD COLUMN verified BOOLEAN NOT NULL DEFAULT FALSE, ADD COLUMN verified_at TIMESTAMP NULL, ADD COLUMN score FLOAT(7,3) UNSIGNED;
ALTER TABLE addresses MODIFY kind ENUM('billing','shipping','it''s both','c:\\d','tab\there') NOT NULL DEFAULT 'billing';
ALTER TABLE addresses DROP COLUMN lat, DROP COLUMN lng, ADD COLUMN place POINT;

ALTER TABLE products ADD COLUMN weight_g INT UNSIGNED NULL AFTER price, ADD COLUMN ean BIGINT(13) UNSIGNED ZEROFILL NULL;
ALTER TABLE products MODIFY status ENUM('draft','live','gone','hidden') NOT NULL DEFAULT 'draft';
ALTER TABLE products MODIFY tags SET('new','sale','eco','a1','a2','a3','a4','a5','a6') NULL;
ALTER TABLE products ADD FULLTEXT INDEX ft_title (title), ADD INDEX price (price DESC, weight_g);
ALTER TABLE products ADD COLUMN price_gross DECIMAL(10,2) GENERATED ALWAYS AS (price * 1.19) VIRTUAL;
ALTER TABLE products ADD COLUMN slug VARCHAR(300) AS (LOWER(REPLACE(title, ' ', '-'))) STORED, ADD UNIQUE KEY (slug);
ALTER TABLE products DROP COLUMN picture;
ALTER TABLE products ADD picture LONGBLOB, ADD COLUMN `thumb` TINYBLOB NULL AFTER `picture`, ADD COLUMN doc BLOB(1000);
ALTER TABLE products MODIFY description MEDIUMTEXT COLLATE utf8mb4_bin;
ALTER TABLE products ADD CONSTRAINT chk_price CHECK (price >= 0), ADD CHECK (weight_g < 100000);
ALTER TABLE products DROP CONSTRAINT chk_price;
ALTER TABLE products ADD brand VARCHAR(60) NULL, ADD INDEX ix_brand_title (brand, title(50));
ALTER TABLE products CHANGE brand maker VARCHAR(80) NULL;
ALTER TABLE products DROP maker;

CREATE TABLE categories (
  id SMALLINT NOT NULL AUTO_INCREMENT,
  parent SMALLINT NULL,
  name VARCHAR(60) NOT NULL,
  PRIMARY KEY USING BTREE (id),
  INDEX (parent),
  CONSTRAINT fk_parent FOREIGN KEY (parent) REFERENCES categories (id)
) DEFAULT CHARSET=utf8mb4 COMMENT="the tree of things";
ALTER TABLE products ADD COLUMN category_id SMALLINT NULL AFTER title,
  ADD CONSTRAINT fk_category FOREIGN KEY (category_id) REFERENCES categories (id) ON DELETE SET NULL;
ALTER TABLE products ADD INDEX ix_category_price (category_id, price);
ALTER TABLE products DROP FOREIGN KEY fk_category;
ALTER TABLE products DROP INDEX ix_category_price;
ALTER TABLE products ADD FOREIGN KEY (category_id) REFERENCES categories (id);
ALTER TABLE categories ADD COLUMN position INT NOT NULL DEFAULT 0, ADD UNIQUE KEY (parent, position);

ALTER TABLE orders ADD COLUMN currency CHAR(3) NOT NULL DEFAULT 'EUR' AFTER total, ADD COLUMN invoice_no INT NULL UNIQUE;
ALTER TABLE orders MODIFY COLUMN placed_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6);
ALTER TABLE orders ADD COLUMN note NATIONAL VARCHAR(100) NULL, ADD COLUMN memo LONG VARCHAR, ADD COLUMN raw LONG VARBINARY;
ALTER TABLE orders ADD INDEX ix_state_time (state, placed_at);
CREATE INDEX ix_orders_total ON orders (total);
CREATE UNIQUE INDEX ux_orders_invoice USING BTREE ON orders (invoice_no, state);
create index `ix currency` on `shop`.`orders` (`currency` asc) comment 'by currency' algorithm=inplace lock=none;
DROP INDEX ix_orders_total ON orders;
-- only: mysql
drop index `ix currency` on shop.orders algorithm = default;
-- only: mariadb
drop index `ix currency` on shop.orders;
ALTER TABLE orders DROP INDEX invoice_no;
ALTER TABLE orders CHANGE COLUMN total total_amount DECIMAL(16,4), CHANGE state status VARCHAR(30) NOT NULL DEFAULT 'open';
ALTER TABLE orders DROP COLUMN memo, DROP COLUMN raw, DROP COLUMN note;

RENAME TABLE carts TO baskets;
ALTER TABLE baskets RENAME TO carts;
ALTER TABLE carts RENAME AS shop.baskets;
ALTER TABLE baskets RENAME carts, ADD COLUMN owner BIGINT UNSIGNED NULL FIRST;
RENAME TABLE stock_moves TO moves_old, carts TO stock_moves, moves_old TO carts;
RENAME TABLE stock_moves TO x_tmp, carts TO stock_moves, x_tmp TO carts;
ALTER TABLE stock_moves ADD COLUMN id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY FIRST;
ALTER TABLE stock_moves DROP PRIMARY KEY, MODIFY id BIGINT NOT NULL, ADD PRIMARY KEY (moved_at, product_id, id);
ALTER TABLE stock_moves ADD reason VARCHAR(50) NOT NULL UNIQUE DEFAULT '' AFTER delta;
ALTER TABLE stock_moves MODIFY reason VARCHAR(60) NOT NULL UNIQUE;
ALTER TABLE stock_moves DROP INDEX reason_2;
ALTER TABLE stock_moves DROP COLUMN id, DROP PRIMARY KEY, ADD PRIMARY KEY (product_id, moved_at);

CREATE TABLE orders_archive LIKE orders;
ALTER TABLE orders_archive ADD COLUMN archived_at TIMESTAMP NULL DEFAULT NULL, DROP INDEX ix_state_time;
CREATE TABLE IF NOT EXISTS orders_archive LIKE customers;
CREATE TABLE IF NOT EXISTS products (nothing INT);
CREATE TABLE totals AS SELECT customer_id, SUM(total_amount) AS total, COUNT(*) AS n, MAX(placed_at) AS last FROM orders GROUP BY customer_id;
ALTER TABLE totals ADD PRIMARY KEY (customer_id);
CREATE TABLE live_products (id INT NOT NULL PRIMARY KEY, title VARCHAR(255)) SELECT id, title, price FROM products WHERE status = 'live';
CREATE TABLE big_spenders (KEY (email)) IGNORE SELECT email, name, credit FROM customers WHERE credit > 100;
CREATE TEMPORARY TABLE basket_now (id INT);
ALTER TABLE basket_now ADD COLUMN x INT;
DROP TEMPORARY TABLE basket_now;
TRUNCATE TABLE totals;
TRUNCATE live_products;
DROP TABLE totals;
DROP TABLE IF EXISTS live_products, no_such_table, big_spenders;
drop tables if exists no_such_table;
CREATE VIEW cheap AS SELECT id, title FROM products WHERE price < 10;
ALTER VIEW cheap AS SELECT id FROM products;
RENAME TABLE cheap TO cheap_products;
DROP VIEW cheap_products;
ANALYZE TABLE products;
OPTIMIZE TABLE orders;
