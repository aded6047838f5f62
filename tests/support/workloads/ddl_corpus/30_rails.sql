-- # Rails migrations

USE app;

CREATE TABLE `schema_migrations` (`version` varchar(255) NOT NULL PRIMARY KEY);
CREATE TABLE `ar_internal_metadata` (`key` varchar(255) NOT NULL PRIMARY KEY, `value` varchar(255), `created_at` datetime(6) NOT NULL, `updated_at` datetime(6) NOT NULL);
CREATE TABLE `users` (`id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, `email` varchar(255) DEFAULT '' NOT NULL, `encrypted_password` varchar(255) DEFAULT '' NOT NULL, `reset_password_token` varchar(255), `sign_in_count` int DEFAULT 0 NOT NULL, `created_at` datetime(6) NOT NULL, `updated_at` datetime(6) NOT NULL) CHARSET=utf8mb4;
CREATE UNIQUE INDEX `index_users_on_email` ON `users` (`email`);
CREATE UNIQUE INDEX `index_users_on_reset_password_token` ON `users` (`reset_password_token`);
CREATE TABLE `articles` (`id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, `title` varchar(255), `body` text, `user_id` bigint, `published` tinyint(1) DEFAULT 0, `created_at` datetime(6) NOT NULL, `updated_at` datetime(6) NOT NULL, INDEX `index_articles_on_user_id`  (`user_id`), CONSTRAINT `fk_rails_3d31dad1cc` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`));
ALTER TABLE `users` ADD `admin` tinyint(1) DEFAULT FALSE NOT NULL;
ALTER TABLE `users` ADD `locale` varchar(5) DEFAULT 'en', ADD `time_zone` varchar(255);
ALTER TABLE `articles` ADD `slug` varchar(255) NOT NULL COLLATE `utf8mb4_bin`;
ALTER TABLE `articles` ADD UNIQUE INDEX `index_articles_on_slug`  (`slug`);
ALTER TABLE `articles` CHANGE `title` `headline` varchar(255) DEFAULT NULL;
ALTER TABLE `articles` CHANGE `body` `body` mediumtext NOT NULL;
ALTER TABLE `articles` ADD CONSTRAINT `fk_rails_e5ed3d1d4b` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE, DROP FOREIGN KEY `fk_rails_3d31dad1cc`;
ALTER TABLE `articles` ADD `lock_version` int DEFAULT 0 NOT NULL COMMENT 'optimistic lock';
CREATE TABLE `articles_tags` (`article_id` bigint NOT NULL, `tag_id` bigint NOT NULL);
CREATE UNIQUE INDEX `index_articles_tags_on_article_id_and_tag_id` ON `articles_tags` (`article_id`, `tag_id`);
ALTER TABLE `articles_tags` RENAME TO `taggings`;
ALTER TABLE `taggings` RENAME INDEX `index_articles_tags_on_article_id_and_tag_id` TO `index_taggings_on_article_id_and_tag_id`;
ALTER TABLE `taggings` ADD `id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY FIRST;
CREATE TABLE `active_storage_blobs` (`id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, `key` varchar(255) NOT NULL, `filename` varchar(255) NOT NULL, `content_type` varchar(255), `metadata` text, `service_name` varchar(255) NOT NULL, `byte_size` bigint NOT NULL, `checksum` varchar(255), `created_at` datetime(6) NOT NULL, UNIQUE INDEX `index_active_storage_blobs_on_key`  (`key`));
CREATE TABLE `active_storage_attachments` (`id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, `name` varchar(255) NOT NULL, `record_type` varchar(255) NOT NULL, `record_id` bigint NOT NULL, `blob_id` bigint NOT NULL, `created_at` datetime(6) NOT NULL, INDEX `index_active_storage_attachments_on_blob_id`  (`blob_id`), UNIQUE INDEX `index_active_storage_attachments_uniqueness`  (`record_type`, `record_id`, `name`, `blob_id`), CONSTRAINT `fk_rails_c3b3935057` FOREIGN KEY (`blob_id`) REFERENCES `active_storage_blobs` (`id`));
ALTER TABLE `active_storage_blobs` CHANGE `checksum` `checksum` varchar(255) DEFAULT NULL, ADD `alt` varchar(50);
ALTER TABLE `users` DROP COLUMN `time_zone`, DROP COLUMN `sign_in_count`, ADD INDEX `index_users_on_locale_and_admin`  (`locale`, `admin`);
ALTER TABLE `users` DROP INDEX `index_users_on_reset_password_token`;
DROP INDEX `index_users_on_locale_and_admin` ON `users`;
ALTER TABLE `users` CHANGE `encrypted_password` `password_digest` varbinary(60) NOT NULL;
ALTER TABLE `articles` ADD COLUMN `headline_length` int GENERATED ALWAYS AS (char_length(headline)) STORED, ADD INDEX `index_articles_on_headline`  (`headline`(20));
ALTER TABLE `users` ADD `uuid` binary(16), ADD `preferences` json, ADD `lat` decimal(10,6), ADD `balance` float(24), ADD `ratio` float(53), ADD `t` time(3), ADD `u` numeric(20) unsigned;
ALTER TABLE `users` CHANGE `preferences` `settings` json NULL;
DROP TABLE IF EXISTS `active_storage_attachments` CASCADE;
DROP TABLE `schema_migrations`, `ar_internal_metadata`;
