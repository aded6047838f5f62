-- # A blog: updates of the software and of its plugins

USE blog;

ALTER TABLE wp_posts ADD COLUMN comment_status varchar(20) NOT NULL default 'open', ADD COLUMN ping_status varchar(20) NOT NULL default 'open';
ALTER TABLE wp_posts ADD COLUMN `post_modified` datetime NOT NULL DEFAULT '2000-01-01 00:00:00' AFTER `post_date`;
ALTER TABLE wp_posts ADD INDEX `post_author` (`post_author`);
ALTER TABLE wp_posts DROP INDEX post_name;
ALTER TABLE wp_posts ADD KEY post_name (post_name(191));
ALTER TABLE wp_posts CHANGE COLUMN `post_title` `post_title` text NOT NULL;
ALTER TABLE wp_posts CHANGE COLUMN post_content post_content longtext NOT NULL;
ALTER TABLE wp_posts MODIFY post_status varchar(20) NOT NULL DEFAULT 'publish' COMMENT 'publish, draft; or "private"';
ALTER TABLE wp_options MODIFY option_name varchar(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci NOT NULL DEFAULT '';
ALTER TABLE wp_options ADD INDEX `autoload` (`autoload`);
CREATE TABLE wp_postmeta (
  meta_id bigint(20) unsigned NOT NULL auto_increment,
  post_id bigint(20) unsigned NOT NULL default '0',
  meta_key varchar(255) default NULL,
  meta_value longtext,
  PRIMARY KEY  (meta_id),
  KEY post_id (post_id),
  KEY meta_key (meta_key(191))
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci;
CREATE TABLE wp_term_relationships (
 object_id bigint(20) unsigned NOT NULL default 0,
 term_taxonomy_id bigint(20) unsigned NOT NULL default 0,
 term_order int(11) NOT NULL default 0,
 PRIMARY KEY  (object_id,term_taxonomy_id),
 KEY term_taxonomy_id (term_taxonomy_id)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci;
CREATE TABLE IF NOT EXISTS `wp_wc_orders` (
  id bigint(20) unsigned,
  status varchar(20) null,
  currency varchar(10) null,
  type varchar(20) null,
  tax_amount decimal(26,8) null,
  total_amount decimal(26,8) null,
  customer_id bigint(20) unsigned null,
  billing_email varchar(320) null,
  date_created_gmt datetime null,
  PRIMARY KEY (id),
  KEY status (status),
  KEY date_created (date_created_gmt),
  KEY customer_id_billing_email (customer_id, billing_email(171)),
  KEY type_status_date (type, status, date_created_gmt)
) COLLATE utf8mb4_unicode_ci;
ALTER TABLE wp_wc_orders ADD COLUMN parent_order_id bigint(20) unsigned null, ADD INDEX parent_order_id (parent_order_id);
ALTER TABLE `wp_wc_orders` DROP INDEX `customer_id_billing_email`, ADD INDEX `customer_id_billing_email` (`customer_id`, `billing_email`(100));
ALTER TABLE wp_wc_orders MODIFY COLUMN billing_email varchar(90) NULL;
ALTER TABLE wp_wc_orders CHANGE COLUMN total_amount total decimal(19,4) NOT NULL DEFAULT 0;
CREATE TABLE wp_yoast_indexable (
`id` int(11) UNSIGNED NOT NULL AUTO_INCREMENT,
`permalink` LONGTEXT,
`permalink_hash` VARCHAR(40),
`object_id` bigint(20),
`is_public` tinyint(1) NULL DEFAULT NULL,
`created_at` datetime NULL,
`updated_at` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
PRIMARY KEY(`id`),
INDEX `object_id_and_hash` (`object_id`, `permalink_hash`)) DEFAULT CHARACTER SET utf8mb4;
ALTER TABLE `wp_yoast_indexable` ADD `blog_id` bigint(20) DEFAULT 1 NOT NULL, ADD `language` varchar(32), ADD KEY `lang` (`language`,`blog_id`);
ALTER TABLE `wp_yoast_indexable` CHANGE `language` `locale` varchar(12) CHARACTER SET ascii;
ALTER TABLE wp_yoast_indexable CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci;
ALTER TABLE wp_terms CONVERT TO CHARACTER SET latin1;
ALTER TABLE wp_terms CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
ALTER TABLE wp_terms ADD term_group bigint(10) NOT NULL DEFAULT 0, DEFAULT CHARACTER SET = latin1;
ALTER TABLE wp_terms ADD remark varchar(30), ADD remark_bin varchar(30) BINARY;
ALTER TABLE wp_users ADD user_nicename varchar(50) NOT NULL DEFAULT '', ADD KEY user_nicename (user_nicename), ADD KEY user_email (user_email);
ALTER TABLE wp_users ADD spam tinyint(2) NOT NULL DEFAULT '0', ADD deleted tinyint(2) NOT NULL DEFAULT '0' ;
ALTER TABLE wp_users CONVERT TO CHARACTER SET utf8mb4, DROP spam, ADD display_name varchar(250) NOT NULL DEFAULT '';
RENAME TABLE `wp_users` TO `wp2_users`, `wp_options` TO `wp2_options`;
ALTER TABLE `odd ``name``` ADD COLUMN `from``to` INT NULL, ADD INDEX `i``x` (`from``to`);
ALTER TABLE `odd ``name``` CHANGE `from``to` `a'b"c` BIGINT NULL COMMENT 'quote '' and back\\slash and \"double\"';
ALTER TABLE `odd ``name``` RENAME TO `order`;
ALTER TABLE blog.`order` DROP COLUMN ` lead`, ADD COLUMN `Ünïcödé 列` varchar(5) NULL, ADD COLUMN primary_key int, ADD COLUMN `key` int, ADD COLUMN `index` int AFTER `key`;
ALTER TABLE `order` RENAME COLUMN `a.b` TO `c.d`;
RENAME TABLE `blog`.`order` TO `shop`.`from.blog`;
ALTER TABLE shop.`from.blog` RENAME blog.back;
DROP TABLE `back`;
CREATE TABLE wp_actionscheduler_actions (
  action_id bigint(20) unsigned NOT NULL auto_increment,
  hook varchar(191) NOT NULL,
  status varchar(20) NOT NULL,
  scheduled_date_gmt datetime NULL default '2000-01-01 00:00:00',
  priority tinyint unsigned NOT NULL default '10',
  args varchar(191),
  schedule longtext,
  group_id bigint(20) unsigned NOT NULL default '0',
  claim_id bigint(20) unsigned NOT NULL default '0',
  extended_args varchar(8000) DEFAULT NULL,
  PRIMARY KEY  (action_id),
  KEY hook_status_scheduled_date_gmt (hook(163), status, scheduled_date_gmt),
  KEY status_scheduled_date_gmt (status, scheduled_date_gmt),
  KEY claim_id_status_priority_scheduled_date_gmt (claim_id,status,priority,scheduled_date_gmt)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci;
ALTER TABLE wp_actionscheduler_actions MODIFY hook varchar(150) NOT NULL;
ALTER TABLE wp_actionscheduler_actions DROP COLUMN group_id, DROP COLUMN claim_id;
DROP TABLE IF EXISTS wp_yoast_indexable;
CREATE TABLE wp_yoast_indexable (id int(11) unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, title text) ENGINE=MyISAM;
ALTER TABLE wp_yoast_indexable ADD FULLTEXT (title), ADD FULLTEXT KEY ft (title);
-- phpMyAdmin
ALTER TABLE `wp_terms` ADD `icon` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL DEFAULT NULL AFTER `slug`, ADD UNIQUE `icon` (`icon`);
ALTER TABLE `wp_terms` CHANGE `icon` `icon` VARCHAR(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL;
ALTER TABLE `blog`.`wp_terms` DROP INDEX `icon`, ADD INDEX `icon` (`icon`, `slug`) USING BTREE;
ALTER TABLE `wp_terms` DROP PRIMARY KEY, ADD PRIMARY KEY(`term_id`, `term_group`);
ALTER TABLE `wp_terms` ADD CONSTRAINT `slug_once` UNIQUE(`slug`(50));
ALTER TABLE `wp_terms` MODIFY `slug` varchar(50) COLLATE latin1_bin NOT NULL DEFAULT '';
