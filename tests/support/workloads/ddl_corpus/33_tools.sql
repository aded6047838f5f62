-- # Flyway and Liquibase, dumps with version comments, generated scripts

USE desk;

CREATE TABLE `flyway_schema_history` (
    `installed_rank` INT NOT NULL,
    `version` VARCHAR(50),
    `description` VARCHAR(200) NOT NULL,
    `type` VARCHAR(20) NOT NULL,
    `script` VARCHAR(1000) NOT NULL,
    `checksum` INT,
    `installed_by` VARCHAR(100) NOT NULL,
    `installed_on` TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    `execution_time` INT NOT NULL,
    `success` BOOL NOT NULL,
    CONSTRAINT `flyway_schema_history_pk` PRIMARY KEY (`installed_rank`)
) ENGINE=InnoDB;
CREATE INDEX `flyway_schema_history_s_idx` ON `desk`.`flyway_schema_history` (`success`);
CREATE TABLE desk.DATABASECHANGELOG (ID VARCHAR(255) NOT NULL, AUTHOR VARCHAR(255) NOT NULL, FILENAME VARCHAR(255) NOT NULL, DATEEXECUTED datetime NOT NULL, ORDEREXECUTED INT NOT NULL, EXECTYPE VARCHAR(10) NOT NULL, MD5SUM VARCHAR(35) NULL, `DESCRIPTION` VARCHAR(255) NULL, COMMENTS VARCHAR(255) NULL, TAG VARCHAR(255) NULL);
CREATE TABLE desk.DATABASECHANGELOGLOCK (ID INT NOT NULL, `LOCKED` TINYINT NOT NULL, LOCKGRANTED datetime NULL, LOCKEDBY VARCHAR(255) NULL, CONSTRAINT PK_DATABASECHANGELOGLOCK PRIMARY KEY (ID));
CREATE TABLE desk.sla (id BIGINT AUTO_INCREMENT NOT NULL, name NVARCHAR(100) NOT NULL, `hours` NUMERIC(6, 2) DEFAULT 24.00 NULL, active BIT(1) DEFAULT 1 NULL, CONSTRAINT PK_SLA PRIMARY KEY (id), UNIQUE (name));
ALTER TABLE desk.sla ADD escalation INT NULL, ADD created datetime DEFAULT NOW() NULL;
ALTER TABLE desk.sla MODIFY name VARCHAR(200);
ALTER TABLE desk.sla MODIFY name VARCHAR(200) NOT NULL;
ALTER TABLE desk.sla ALTER active SET DEFAULT 0;
ALTER TABLE desk.sla ADD CONSTRAINT uc_sla UNIQUE (name, escalation);
ALTER TABLE desk.tickets ADD sla_id BIGINT NULL;
ALTER TABLE desk.tickets ADD CONSTRAINT fk_ticket_sla FOREIGN KEY (sla_id) REFERENCES desk.sla (id) ON UPDATE RESTRICT ON DELETE RESTRICT;
ALTER TABLE desk.tickets RENAME COLUMN due TO due_on;
ALTER TABLE desk.sla DROP KEY uc_sla;
ALTER TABLE desk.sla COMMENT = 'Service level; "gold", ''silver''';

/* V7__comments.sql */ ALTER TABLE tickets /* inside */ ADD # to the end of the line
  COLUMN closed -- another, with a ; in it
  DATETIME /*after all*/ NULL;
/*!40101 ALTER TABLE tickets ADD COLUMN since_4 INT NULL */;
ALTER TABLE tickets ADD COLUMN a INT /*!50100 UNSIGNED */ NOT NULL DEFAULT 0 /*!99999 COMMENT 'never' */, ADD b INT/**/NULL;
/*! ALTER TABLE tickets DROP COLUMN a */;
ALTER	TABLE
	tickets
	DROP   b

	,DROP
COLUMN since_4   ;
ALTER TABLE/*x*/tickets ADD(c1 INT,c2 INT(5)ZEROFILL,c3 CHAR(3)NOT NULL,UNIQUE(c3),KEY k(c1,c2));
-- only: mysql
/*!80023 ALTER TABLE tickets ALTER COLUMN c1 SET INVISIBLE */;
-- only: mariadb
/*M!100301 ALTER TABLE tickets MODIFY c1 INT INVISIBLE */;
-- only: mariadb
ALTER TABLE tickets /*M! DROP c2, */ DROP COLUMN c3;
-- only: mysql
ALTER TABLE tickets /*M! DROP c1, */ DROP COLUMN c3, DROP c2;

DROP TABLE IF EXISTS `mails`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
CREATE TABLE `mails` (
  `id` int NOT NULL AUTO_INCREMENT,
  `message_id` varchar(255) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL,
  `subject` varchar(998) DEFAULT NULL,
  `body` longblob,
  `size` int GENERATED ALWAYS AS (length(`body`)) VIRTUAL,
  `received` timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  `flags` set('seen','answered','flagged','deleted','draft') CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  PRIMARY KEY (`id`),
  UNIQUE KEY `message_id` (`message_id`),
  KEY `subject` (`subject`(100)),
  FULLTEXT KEY `ft` (`subject`)
) ENGINE=InnoDB AUTO_INCREMENT=17 DEFAULT CHARSET=utf8mb4 COMMENT='a dump''s table' /*!99999 PARTITION BY KEY (id) */;
DROP TABLE IF EXISTS `mails`;
CREATE TABLE `mails` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `subject` varchar(998) DEFAULT NULL,
  `received` datetime /* mariadb-5.3 */ NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci /*!50100 PARTITION BY HASH (`id`) PARTITIONS 3 */;
ALTER TABLE `mails` ADD UNIQUE KEY `subject` (`id`,`subject`(50)) KEY_BLOCK_SIZE=4 COMMENT 'it''s, (odd)';
CREATE TABLE tickets_2024 LIKE desk.tickets;
CREATE TABLE IF NOT EXISTS tickets_2023 (LIKE tickets_2024);
ALTER TABLE tickets_2023 CONVERT TO CHARACTER SET latin1 COLLATE latin1_german1_ci, DROP INDEX ft_subject, COMMENT 'cold';
INSERT INTO tickets_2023 (queue, subject) VALUES ('a', 'CREATE TABLE nonsense (id int); DROP TABLE tickets');
CREATE TABLE tickets_per_queue (n BIGINT NOT NULL, PRIMARY KEY (queue)) AS SELECT queue, COUNT(*) AS n, MIN(opened) first, GROUP_CONCAT(priority) AS all_of_them FROM tickets GROUP BY queue;
DROP TABLE tickets_2023, desk.tickets_2024, `desk`.`tickets_per_queue`;
ALTER TABLE agents ADD COLUMN email VARCHAR(100) NULL, ADD CONSTRAINT UNIQUE KEY (email), ADD CONSTRAINT agent_mail UNIQUE INDEX (email(50));
ALTER TABLE agents ADD CONSTRAINT named UNIQUE KEY not_this (login, email);
ALTER TABLE agents MODIFY languages SET('de','en','fr','日本語','ελληνικά') CHARACTER SET utf8mb4 NOT NULL DEFAULT 'en';
ALTER TABLE agents CHANGE languages speaks SET('de','en','fr') CHARACTER SET latin1 COLLATE latin1_german2_ci NULL;
ALTER TABLE agents ADD team SMALLINT UNSIGNED NOT NULL DEFAULT 0 AFTER id, DROP PRIMARY KEY, ADD PRIMARY KEY (team, id), ADD UNIQUE (id);
ALTER TABLE agents ADD grade TINYINT SIGNED NULL, ADD pct DOUBLE(5,2) UNSIGNED NULL, ADD hex CHAR BYTE NULL, ADD m MEDIUMINT(6) NULL, ADD i1 INT1, ADD i8 INT8 UNSIGNED, ADD f4 FLOAT4, ADD mi MIDDLEINT, ADD dd DEC, ADD fx FIXED(5);
CREATE TRIGGER t1 BEFORE INSERT ON agents FOR EACH ROW SET NEW.grade = 1;
CREATE PROCEDURE add_columns() BEGIN ALTER TABLE agents ADD COLUMN from_procedure INT; ALTER TABLE agents DROP COLUMN i8; END;
CALL add_columns();
DROP PROCEDURE add_columns;
DROP TRIGGER t1;
CREATE FUNCTION one() RETURNS INT DETERMINISTIC RETURN 1;
DROP FUNCTION one;
CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY STARTS '2099-01-01 00:00:00' DISABLE DO ALTER TABLE agents DROP COLUMN grade;
DROP EVENT nightly;
PREPARE s FROM 'ALTER TABLE agents ADD COLUMN prepared INT';
EXECUTE s;
SET @ddl = CONCAT('CREATE TABLE gen_', 7, ' (id INT PRIMARY KEY, txt TEXT)');
PREPARE s FROM @ddl;
EXECUTE s;
ALTER TABLE gen_7 MODIFY txt VARCHAR(20) NOT NULL, ADD UNIQUE (txt);
