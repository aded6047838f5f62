-- # Laravel migrations: lower case, every name in backticks

USE app;

create table `migrations` (`id` int unsigned not null auto_increment primary key, `migration` varchar(255) not null, `batch` int not null) default character set utf8mb4 collate 'utf8mb4_unicode_ci';
create table `members` (`id` bigint unsigned not null auto_increment primary key, `name` varchar(255) not null, `email` varchar(255) not null, `email_verified_at` timestamp null, `password` varchar(255) not null, `remember_token` varchar(100) null, `created_at` timestamp null, `updated_at` timestamp null) default character set utf8mb4 collate 'utf8mb4_unicode_ci';
alter table `members` add unique `members_email_unique`(`email`);
create table `password_reset_tokens` (`email` varchar(255) not null, `token` varchar(255) not null, `created_at` timestamp null) default character set utf8mb4 collate 'utf8mb4_unicode_ci';
alter table `password_reset_tokens` add primary key (`email`);
create table `jobs` (`id` bigint unsigned not null auto_increment primary key, `queue` varchar(255) not null, `payload` longtext not null, `attempts` tinyint unsigned not null, `reserved_at` int unsigned null, `available_at` int unsigned not null, `created_at` int unsigned not null) default character set utf8mb4 collate 'utf8mb4_unicode_ci';
alter table `jobs` add index `jobs_queue_index`(`queue`);
create table `failed_jobs` (`id` bigint unsigned not null auto_increment primary key, `uuid` varchar(255) not null, `exception` longtext not null, `failed_at` timestamp not null default CURRENT_TIMESTAMP) default character set utf8mb4 collate 'utf8mb4_unicode_ci' engine = InnoDB;
alter table `failed_jobs` add unique `failed_jobs_uuid_unique`(`uuid`);
create table `posts` (`id` bigint unsigned not null auto_increment primary key, `member_id` bigint unsigned not null, `title` varchar(255) not null, `kind` enum('news', 'how-to') not null default 'news', `flags` set('a', 'b') null, `body` mediumtext null, `meta` json null, `price` decimal(8, 2) unsigned not null default '0', `at` datetime(0) null, `deleted_at` timestamp null) default character set utf8mb4 collate 'utf8mb4_unicode_ci';
alter table `posts` add constraint `posts_member_id_foreign` foreign key (`member_id`) references `members` (`id`) on delete cascade;
alter table `posts` add index `posts_title_kind_index`(`title`, `kind`);
alter table `posts` add `views` int unsigned not null default '0' after `title`, add `uuid` char(36) null first;
alter table `posts` modify `title` varchar(500) null;
alter table `posts` modify `kind` enum('news', 'how-to', 'video') not null default 'news';
alter table `posts` add fulltext `posts_body_fulltext`(`body`);
alter table `posts` drop foreign key `posts_member_id_foreign`;
alter table `posts` drop index `posts_member_id_foreign`;
alter table `posts` drop `uuid`, drop `views`;
alter table `posts` change `at` `published_at` datetime null;
alter table `posts` rename column `body` to `text`;
alter table `posts` rename index `posts_title_kind_index` to `posts_title_kind`;
rename table `posts` to `entries`;
alter table `entries` add `slug` varchar(255) as (lower(`title`)) virtual, add `year` smallint as (year(`published_at`)) stored;
alter table `entries` add `note` varchar(255) collate 'utf8mb4_bin' null comment 'only for editors', add `data` blob null, add `ip` varchar(45) character set ascii null;
alter table `entries` drop primary key, modify `id` bigint unsigned not null, add primary key (`member_id`, `id`);
alter table `members` drop index `members_email_unique`, add `two_factor_secret` text null after `password`, add unique `members_email_name`(`email`, `name`);
create table `sessions` (`id` varchar(255) not null, `user_id` bigint unsigned null, `ip_address` varchar(45) null, `user_agent` text null, `payload` longtext not null, `last_activity` int not null, primary key (`id`), key `sessions_user_id_index` (`user_id`)) default character set utf8mb4 collate 'utf8mb4_unicode_ci';
alter table `sessions` modify `payload` mediumtext not null, comment = 'PHP sessions';
drop table if exists `password_reset_tokens`;
drop table `migrations`;
