-- # Django migrations

USE app;

CREATE TABLE `django_migrations` (`id` bigint AUTO_INCREMENT NOT NULL PRIMARY KEY, `app` varchar(255) NOT NULL, `name` varchar(255) NOT NULL, `applied` datetime(6) NOT NULL);
CREATE TABLE `django_content_type` (`id` integer AUTO_INCREMENT NOT NULL PRIMARY KEY, `name` varchar(100) NOT NULL, `app_label` varchar(100) NOT NULL, `model` varchar(100) NOT NULL);
ALTER TABLE `django_content_type` ADD CONSTRAINT `django_content_type_app_label_model_76bd3d3b_uniq` UNIQUE (`app_label`, `model`);
ALTER TABLE `django_content_type` MODIFY `name` varchar(100) NULL;
ALTER TABLE `django_content_type` DROP COLUMN `name`;
CREATE TABLE `auth_permission` (`id` integer AUTO_INCREMENT NOT NULL PRIMARY KEY, `name` varchar(50) NOT NULL, `content_type_id` integer NOT NULL, `codename` varchar(100) NOT NULL);
CREATE TABLE `auth_group` (`id` integer AUTO_INCREMENT NOT NULL PRIMARY KEY, `name` varchar(80) NOT NULL UNIQUE);
CREATE TABLE `auth_user` (`id` integer AUTO_INCREMENT NOT NULL PRIMARY KEY, `password` varchar(128) NOT NULL, `last_login` datetime(6) NOT NULL, `is_superuser` bool NOT NULL, `username` varchar(30) NOT NULL UNIQUE, `email` varchar(75) NOT NULL, `is_active` bool NOT NULL, `date_joined` datetime(6) NOT NULL);
CREATE TABLE `auth_user_groups` (`id` bigint AUTO_INCREMENT NOT NULL PRIMARY KEY, `user_id` integer NOT NULL, `group_id` integer NOT NULL);
ALTER TABLE `auth_permission` ADD CONSTRAINT `auth_permission_content_type_id_codename_01ab375a_uniq` UNIQUE (`content_type_id`, `codename`);
ALTER TABLE `auth_permission` ADD CONSTRAINT `auth_permission_content_type_id_2f476e4b_fk_django_co` FOREIGN KEY (`content_type_id`) REFERENCES `django_content_type` (`id`);
ALTER TABLE `auth_user_groups` ADD CONSTRAINT `auth_user_groups_user_id_group_id_94350c0c_uniq` UNIQUE (`user_id`, `group_id`);
ALTER TABLE `auth_user_groups` ADD CONSTRAINT `auth_user_groups_user_id_6a12ed8b_fk_auth_user_id` FOREIGN KEY (`user_id`) REFERENCES `auth_user` (`id`);
ALTER TABLE `auth_user_groups` ADD CONSTRAINT `auth_user_groups_group_id_97559544_fk_auth_group_id` FOREIGN KEY (`group_id`) REFERENCES `auth_group` (`id`);
ALTER TABLE `auth_permission` MODIFY `name` varchar(255) NOT NULL;
ALTER TABLE `auth_user` MODIFY `email` varchar(254) NOT NULL;
ALTER TABLE `auth_user` MODIFY `last_login` datetime(6) NULL;
ALTER TABLE `auth_user` MODIFY `username` varchar(150) NOT NULL;
ALTER TABLE `auth_user` ADD COLUMN `first_name` varchar(30) DEFAULT '' NOT NULL;
ALTER TABLE `auth_user` ALTER COLUMN `first_name` DROP DEFAULT;
ALTER TABLE `auth_user` ADD COLUMN `manager_id` integer NULL , ADD CONSTRAINT `auth_user_manager_id_f6a2a1c5_fk` FOREIGN KEY (`manager_id`) REFERENCES `auth_user`(`id`);
CREATE INDEX `auth_user_email_idx` ON `auth_user` (`email`, `is_active` DESC);
ALTER TABLE `auth_user` CHANGE `first_name` `given_name` varchar(150) NOT NULL;
ALTER TABLE `auth_user` DROP FOREIGN KEY `auth_user_manager_id_f6a2a1c5_fk`;
ALTER TABLE `auth_user` DROP COLUMN `manager_id`;
DROP INDEX `auth_user_email_idx` ON `auth_user`;
ALTER TABLE `auth_user` ADD COLUMN `meta` json DEFAULT (_utf8mb4'{}') NOT NULL;
ALTER TABLE `auth_user` ADD COLUMN `age` integer UNSIGNED NULL CHECK (`age` >= 0);
ALTER TABLE `auth_user` ADD CONSTRAINT `age_limit` CHECK (`age` < 200);
ALTER TABLE `auth_user` MODIFY `age` smallint UNSIGNED NULL;
ALTER TABLE `auth_user` ADD COLUMN `duration` bigint NULL, ADD COLUMN `ip` char(39) NULL, ADD COLUMN `uid` char(32) NULL;
ALTER TABLE `auth_user` RENAME COLUMN `uid` TO `guid`;
RENAME TABLE `auth_user` TO `accounts_user`;
ALTER TABLE `auth_user_groups` RENAME COLUMN `user_id` TO `account_id`;
-- fails
ALTER TABLE `auth_group` MODIFY `id` bigint AUTO_INCREMENT NOT NULL, MODIFY `name` varchar(150) COLLATE `utf8mb4_bin` NOT NULL;
ALTER TABLE `auth_group` MODIFY `name` varchar(150) COLLATE `utf8mb4_bin` NOT NULL;
DROP TABLE `django_migrations` CASCADE;
