-- # What the servers hold when the history begins

CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE DATABASE blog DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci;
CREATE DATABASE desk CHARACTER SET = utf8mb4;
CREATE DATABASE erp CHARACTER SET latin1 COLLATE latin1_general_ci;
CREATE DATABASE app;
CREATE DATABASE logs CHARACTER SET ascii;
CREATE DATABASE `world` CHARACTER SET utf8mb4;

USE shop;
CREATE TABLE customers (
  id bigint unsigned NOT NULL AUTO_INCREMENT,
  email varchar(190) NOT NULL,
  name varchar(120) DEFAULT NULL,
  born date DEFAULT NULL,
  credit decimal(12,2) NOT NULL DEFAULT '0.00',
  newsletter tinyint(1) NOT NULL DEFAULT 0,
  created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (id),
  UNIQUE KEY uq_email (email),
  KEY ix_name (name)
) ENGINE=InnoDB COMMENT='who buys';
CREATE TABLE products (
  id int NOT NULL AUTO_INCREMENT PRIMARY KEY,
  sku char(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL UNIQUE,
  title varchar(255) NOT NULL,
  description text,
  price decimal(10,2) NOT NULL,
  status enum('draft','live','gone') NOT NULL DEFAULT 'draft',
  tags set('new','sale','eco') DEFAULT NULL,
  picture mediumblob
) ENGINE=InnoDB;
CREATE TABLE orders (
  id bigint NOT NULL AUTO_INCREMENT,
  customer_id bigint unsigned NOT NULL,
  state varchar(20) NOT NULL DEFAULT 'open',
  total decimal(14,4) DEFAULT NULL,
  placed_at datetime(3) NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT fk_orders_customer FOREIGN KEY (customer_id) REFERENCES customers (id)
) ENGINE=InnoDB;
CREATE TABLE order_lines (
  order_id bigint NOT NULL,
  line smallint unsigned NOT NULL,
  product_id int NOT NULL,
  quantity int NOT NULL DEFAULT 1,
  PRIMARY KEY (order_id, line),
  KEY product_id (product_id),
  CONSTRAINT lines_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE,
  CONSTRAINT lines_product FOREIGN KEY (product_id) REFERENCES products (id)
) ENGINE=InnoDB;
CREATE TABLE carts (
  token binary(16) NOT NULL,
  content json DEFAULT NULL,
  touched timestamp(6) NULL DEFAULT NULL,
  PRIMARY KEY (token)
) ENGINE=InnoDB;
CREATE TABLE stock_moves (
  moved_at datetime NOT NULL,
  product_id int NOT NULL,
  delta int NOT NULL
) ENGINE=InnoDB;

USE blog;
CREATE TABLE wp_posts (
  ID bigint(20) unsigned NOT NULL auto_increment,
  post_author bigint(20) unsigned NOT NULL default '0',
  post_date datetime NOT NULL default '2000-01-01 00:00:00',
  post_content longtext NOT NULL,
  post_title text NOT NULL,
  post_excerpt text NOT NULL,
  post_status varchar(20) NOT NULL default 'publish',
  post_name varchar(200) NOT NULL default '',
  post_parent bigint(20) unsigned NOT NULL default '0',
  post_type varchar(20) NOT NULL default 'post',
  PRIMARY KEY  (ID),
  KEY post_name (post_name(191)),
  KEY type_status_date (post_type,post_status,post_date,ID),
  KEY post_parent (post_parent)
);
CREATE TABLE wp_options (
  option_id bigint(20) unsigned NOT NULL auto_increment,
  option_name varchar(191) NOT NULL default '',
  option_value longtext NOT NULL,
  autoload varchar(20) NOT NULL default 'yes',
  PRIMARY KEY  (option_id),
  UNIQUE KEY option_name (option_name)
);
CREATE TABLE wp_terms (
  term_id bigint(20) unsigned NOT NULL auto_increment,
  name varchar(200) NOT NULL default '',
  slug varchar(200) NOT NULL default '',
  PRIMARY KEY  (term_id),
  KEY slug (slug(191)),
  KEY name (name(191))
);
CREATE TABLE wp_users (
  ID bigint(20) unsigned NOT NULL auto_increment,
  user_login varchar(60) NOT NULL default '',
  user_pass varchar(255) NOT NULL default '',
  user_email varchar(100) NOT NULL default '',
  PRIMARY KEY  (ID),
  KEY user_login_key (user_login)
);
CREATE TABLE `odd ``name``` (
  `a.b` int NOT NULL,
  `select` varchar(10) DEFAULT NULL,
  ` lead` int DEFAULT NULL,
  PRIMARY KEY (`a.b`)
) COMMENT='it''s "odd"';

USE desk;
CREATE TABLE tickets (
  id int unsigned NOT NULL AUTO_INCREMENT,
  queue varchar(40) NOT NULL,
  subject varchar(200) NOT NULL,
  body text,
  priority enum('low','normal','high') DEFAULT 'normal',
  opened datetime DEFAULT CURRENT_TIMESTAMP,
  due date,
  PRIMARY KEY (id),
  FULLTEXT KEY ft_subject (subject, body)
) ENGINE=InnoDB;
CREATE TABLE agents (
  id int unsigned NOT NULL AUTO_INCREMENT,
  login varchar(50) COLLATE utf8mb4_bin NOT NULL,
  languages set('de','en','fr') NOT NULL DEFAULT 'en',
  PRIMARY KEY (id),
  UNIQUE KEY login (login)
) ENGINE=InnoDB;
CREATE TABLE offices (
  id int NOT NULL,
  name varchar(60) NOT NULL,
  location point NOT NULL,
  area polygon DEFAULT NULL,
  PRIMARY KEY (id),
  SPATIAL KEY location (location)
) ENGINE=InnoDB;

USE erp;
CREATE TABLE accounts (
  company smallint NOT NULL,
  account char(10) NOT NULL,
  label varchar(80) NOT NULL,
  kind char(1) DEFAULT NULL,
  PRIMARY KEY (company, account)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE bookings (
  company smallint NOT NULL,
  year year NOT NULL,
  number int NOT NULL,
  account char(10) NOT NULL,
  amount decimal(18,4) NOT NULL,
  note tinytext,
  PRIMARY KEY (company, year, number),
  KEY by_account (company, account)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE units (
  code char(3) NOT NULL,
  factor double NOT NULL DEFAULT 1,
  ratio float DEFAULT NULL,
  flags bit(5) DEFAULT NULL,
  PRIMARY KEY (code)
) ENGINE=InnoDB DEFAULT CHARSET=latin1 COLLATE=latin1_swedish_ci;

USE logs;
CREATE TABLE requests (
  id bigint NOT NULL AUTO_INCREMENT,
  day date NOT NULL,
  host varchar(60) NOT NULL,
  path varchar(500) DEFAULT NULL,
  status smallint DEFAULT NULL,
  PRIMARY KEY (id, day)
) ENGINE=InnoDB
PARTITION BY RANGE (TO_DAYS(day)) (
  PARTITION p2024 VALUES LESS THAN (TO_DAYS('2025-01-01')),
  PARTITION p2025 VALUES LESS THAN (TO_DAYS('2026-01-01')),
  PARTITION pmax VALUES LESS THAN MAXVALUE
);
CREATE TABLE events (
  tenant int NOT NULL,
  id bigint NOT NULL,
  payload blob,
  PRIMARY KEY (tenant, id)
) PARTITION BY HASH (tenant) PARTITIONS 4;

USE world;
CREATE TABLE cities (
  id int NOT NULL AUTO_INCREMENT,
  name varchar(100) NOT NULL,
  native varchar(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  code char(2) CHARACTER SET latin1 DEFAULT NULL,
  cyr varchar(50) CHARACTER SET koi8r DEFAULT NULL,
  jp varchar(50) CHARACTER SET sjis DEFAULT NULL,
  kind enum('größe','naïve','日本') CHARACTER SET utf8mb4 DEFAULT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB COMMENT='Städte und Orte';
