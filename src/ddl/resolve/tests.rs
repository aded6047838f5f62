//! One test per part of CREATE TABLE. `tests/history/test_schemas_on_servers.py` compares with servers.

use crate::charset::Collation;
use crate::ddl::cursor::Cursor;
use crate::ddl::{CreateTable, SqlServer};
use crate::schema::{ColumnType as T, TableSchema};

const MYSQL: SqlServer = SqlServer { is_mariadb: false, version: (9, 7, 0) };
const MARIADB: SqlServer = SqlServer { is_mariadb: true, version: (11, 8, 9) };

fn create(text: &str) -> CreateTable {
    let mut cursor = Cursor::new(text).unwrap();
    cursor.expect("CREATE").unwrap();
    let head = CreateTable::parse_head(&mut cursor).unwrap();
    CreateTable::parse_body(&mut cursor, head).unwrap_or_else(|e| panic!("{}", e.message))
}

fn schema(text: &str, server: SqlServer) -> TableSchema {
    create(text).table_schema("shop", server, &|_| None).unwrap()
}

/// The only column of a table in latin1.
fn column(definition: &str, server: SqlServer) -> crate::schema::Column {
    let text = format!("CREATE TABLE t (c {definition}) DEFAULT CHARSET=latin1");
    schema(&text, server).columns.pop().unwrap()
}

#[test]
fn every_type_and_its_other_names() {
    let char = |max_bytes| T::Char { max_bytes };
    let varchar = |max_bytes| T::VarChar { max_bytes };
    let blob = |length_bytes| T::Blob { length_bytes };
    let decimal = |precision, scale| T::Decimal { precision, scale };
    for (names, column_type) in [
        ("tinyint|TINYINT(1)|int1|bool|BOOLEAN", T::Tiny),
        ("smallint(6)|int2", T::Short),
        ("mediumint|int3|middleint", T::Int24),
        ("int|integer(11)|int4|int signed", T::Long),
        ("bigint|int8", T::LongLong),
        ("float|float4|float(24)|float(7,3)|float(0)", T::Float),
        ("double|float8|real|double precision|float(25)|float(53)|double(5,2)", T::Double),
        ("decimal|dec|numeric(10)|fixed(10,0)|decimal(0)", decimal(10, 0)),
        ("decimal(65,30)", decimal(65, 30)),
        ("bit|bit(1)|bit(0)", T::Bit { bits: 1 }),
        ("bit(64)", T::Bit { bits: 64 }),
        ("year|year(4)", T::Year),
        ("date", T::Date),
        ("time(6)", T::Time2 { fsp: 6 }),
        ("datetime|datetime(0)", T::DateTime2 { fsp: 0 }),
        ("timestamp(3) NULL", T::Timestamp2 { fsp: 3 }),
        ("char|character|char(1)|char byte|binary", char(1)),
        ("char(10)|character(10) character set ascii|binary(10)|char(10) charset binary", char(10)),
        ("nchar(10)|national char(10)|char(10) charset utf8|national character(10)", char(30)),
        ("char(255) charset utf8mb4", char(1020)),
        ("varchar(20)|character varying(20)|char varying(20)|varcharacter(20)", varchar(20)),
        ("varbinary(20)|varchar(20) byte|varchar(20) character set binary", varchar(20)),
        ("nvarchar(5)|nchar varchar(5)|nchar varying(5)|national varchar(5)", varchar(15)),
        ("national char varying(5)|national varcharacter(5)", varchar(15)),
        ("tinytext|tinyblob|text(255)|blob(10)|text(63) charset utf8mb4", blob(1)),
        ("text|blob|text(256)|text(64) charset utf8mb4|text byte", blob(2)),
        ("mediumtext|mediumblob|long|long varchar|long varbinary|long char varying", blob(3)),
        ("blob(70000)|text(20000) charset utf8mb4", blob(3)),
        ("longtext|longblob|blob(20000000)", blob(4)),
        ("enum('a')", T::Enum { bytes: 1 }),
        ("set('a','b')", T::Set { bytes: 1 }),
        ("geometry|point|geomcollection|multipolygon SRID 4326", T::Geometry { length_bytes: 4 }),
    ] {
        for name in names.split('|') {
            assert_eq!(column(name, MYSQL).column_type, column_type, "{name}");
            assert_eq!(column(name, MARIADB).column_type, column_type, "{name}");
        }
    }
}

#[test]
fn types_that_differ_between_servers() {
    assert_eq!(column("json", MYSQL).column_type, T::Json { length_bytes: 4 });
    let json = column("json", MARIADB);
    assert_eq!(
        (json.column_type, json.collation),
        (T::Blob { length_bytes: 4 }, Some(Collation(46)))
    );
    assert_eq!(column("vector", MYSQL).dimension, Some(2048));
    assert_eq!(column("vector(3)", MYSQL).column_type, T::Vector { length_bytes: 4 });
    assert_eq!(column("vector(3)", MARIADB).column_type, T::VectorVarBinary { max_bytes: 12 });
    assert_eq!(column("uuid", MARIADB).column_type, T::Uuid);
    let error =
        create("CREATE TABLE t (c uuid)").table_schema("shop", MYSQL, &|_| None).unwrap_err();
    assert!(
        error.to_string().contains("CREATE TABLE shop.t: column `c` (line 1): a type of MariaDB")
    );
    let compressed = |sql| column(sql, MARIADB).column_type;
    assert_eq!(
        compressed("varchar(20) /*M!100301 COMPRESSED*/ DEFAULT NULL"),
        T::VarCharCompressed { max_bytes: 21 }
    );
    assert_eq!(compressed("text compressed=zlib"), T::BlobCompressed { length_bytes: 2 });
}

#[test]
fn types_as_show_create_table_writes_them() {
    const OLD: SqlServer = SqlServer { is_mariadb: false, version: (5, 7, 29) };
    for (definition, mysql, mariadb) in [
        ("int", "int", "int(11)"),
        ("int(0) unsigned", "int unsigned", "int(10) unsigned"),
        ("bigint(5)", "bigint", "bigint(5)"),
        ("serial", "bigint unsigned", "bigint(20) unsigned"),
        ("mediumint unsigned", "mediumint unsigned", "mediumint(8) unsigned"),
        ("smallint", "smallint", "smallint(6)"),
        ("bool", "tinyint(1)", "tinyint(1)"),
        ("tinyint(1) unsigned", "tinyint unsigned", "tinyint(1) unsigned"),
        ("int(4) zerofill", "int(4) unsigned zerofill", "int(4) unsigned zerofill"),
        ("bigint zerofill", "bigint(20) unsigned zerofill", "bigint(20) unsigned zerofill"),
        ("float(7,3) unsigned", "float(7,3) unsigned", "float(7,3) unsigned"),
        ("real(9,2)", "double(9,2)", "double(9,2)"),
        (
            "decimal(5,2) zerofill",
            "decimal(5,2) unsigned zerofill",
            "decimal(5,2) unsigned zerofill",
        ),
        ("year", "year", "year(4)"),
        ("geometrycollection", "geomcollection", "geometrycollection"),
        ("varchar(3)", "varchar(3)", "varchar(3)"),
    ] {
        assert_eq!(column(definition, MYSQL).declared_type(), mysql);
        assert_eq!(column(definition, MARIADB).declared_type(), mariadb);
        assert_eq!(column(definition, OLD).declared_type(), mariadb);
    }
    let compressed = column("text compressed", MARIADB).declared_type();
    assert_eq!(compressed, "text /*M!100301 COMPRESSED*/");
}

#[test]
fn attributes_that_rows_do_not_depend_on() {
    let declared_of = |sql: &str| {
        let declared = column(sql, MYSQL).declared.unwrap();
        let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(ToOwned::to_owned);
        (text(&declared.default), declared.auto_increment, text(&declared.on_update))
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(declared_of("int"), (None, false, None));
    assert_eq!(declared_of("int DEFAULT NULL"), (None, false, None));
    assert_eq!(declared_of("varchar(4) DEFAULT 'NULL'"), (some("'NULL'"), false, None));
    assert_eq!(declared_of("int DEFAULT (1 + 1)"), (some("(1 + 1)"), false, None));
    assert_eq!(declared_of("int key auto_increment"), (None, true, None));
    for (text, value) in [
        ("NOW()", "CURRENT_TIMESTAMP"),
        ("current_timestamp", "CURRENT_TIMESTAMP"),
        ("localtime(3)", "CURRENT_TIMESTAMP(3)"),
        ("current_timestamp(0)", "CURRENT_TIMESTAMP"),
    ] {
        let definition = format!("datetime(3) ON UPDATE {text}");
        assert_eq!(declared_of(&definition), (None, false, some(value)));
    }
}

#[test]
fn signs_nulls_and_visibility() {
    let flags = |sql| {
        let c = column(sql, MYSQL);
        (c.unsigned, c.nullable, c.visible)
    };
    assert_eq!(flags("int"), (Some(false), true, Some(true)));
    assert_eq!(flags("int unsigned NOT NULL"), (Some(true), false, Some(true)));
    assert_eq!(flags("int(5) zerofill NULL"), (Some(true), true, Some(true)));
    assert_eq!(flags("decimal(5,2) unsigned"), (Some(true), true, Some(true)));
    assert_eq!(flags("year"), (Some(false), true, Some(true)));
    assert_eq!(flags("date"), (None, true, Some(true)));
    assert_eq!(flags("serial"), (Some(true), false, Some(true)));
    assert_eq!(flags("int auto_increment key"), (Some(false), false, Some(true)));
    assert_eq!(flags("int /*!80023 INVISIBLE */"), (Some(false), true, Some(false)));
}

#[test]
fn attributes() {
    for attributes in [
        "DEFAULT NULL",
        "DEFAULT '0' NOT NULL COMMENT 'it''s, \\'so)'",
        "DEFAULT -1.5e-3 NOT NULL",
        "DEFAULT (uuid()) NOT NULL",
        "DEFAULT uuid() COMMENT \"a\"",
        "DEFAULT _utf8mb4'a' UNIQUE KEY",
        "DEFAULT _latin1 X'41'",
        "DEFAULT nextval(`shop`.`s`) NOT NULL",
        "DEFAULT NEXT VALUE FOR shop.s",
        "DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6)",
        "DEFAULT (1) + 2 * pow(3,4) CHECK (c > 0)",
        "DEFAULT CASE WHEN 1 THEN 2 ELSE CASE 1 WHEN 1 THEN 3 END END NOT NULL",
        "NOT NULL DEFAULT b'101'",
        "GENERATED ALWAYS AS ((`a` + `b`)) STORED NOT NULL",
        "AS (concat(a,')')) VIRTUAL INVISIBLE",
        "AS (a) PERSISTENT",
        "CHECK (json_valid(`c`)) NOT ENFORCED",
        "CONSTRAINT `x` CHECK (c <> 1) ENFORCED",
        "CONSTRAINT CHECK (c <> 1)",
        "REFERENCES shop.other (id) MATCH FULL ON DELETE SET NULL ON UPDATE NO ACTION",
        "REFERENCES other ON DELETE CASCADE",
        "COLUMN_FORMAT COMPRESSED WITH COMPRESSION_DICTIONARY d STORAGE DISK",
        "ENGINE_ATTRIBUTE='{\"a\": 1}' SECONDARY_ENGINE_ATTRIBUTE = '{}' NOT SECONDARY",
        "WITHOUT SYSTEM VERSIONING",
        "REF_SYSTEM_ID=4326 ENCRYPTED=YES",
        "COLLATE binary",
        "NOT NULL SERIAL DEFAULT VALUE",
    ] {
        let table = create(&format!("CREATE TABLE t (c int {attributes}, d int)"));
        assert_eq!(table.columns.len(), 2, "{attributes}");
    }
}

#[test]
fn character_sets_come_from_the_column_the_table_or_the_caller() {
    let collation = |definition: &str, tail: &str, server, default: Option<u32>| {
        create(&format!("CREATE TABLE t (c {definition}) {tail}"))
            .table_schema("shop", server, &|_| default.map(Collation))
            .map(|schema| schema.columns[0].collation.map(|collation| collation.0))
    };
    for (definition, tail, mysql, mariadb) in [
        ("text", "DEFAULT CHARSET=utf8mb4", 255, 2304),
        ("text", "CHARACTER SET utf8mb4 COLLATE=utf8mb4_bin", 46, 46),
        ("text", "COLLATE 'latin1_bin'", 47, 47),
        ("text charset utf8mb4", "DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin", 255, 2304),
        ("text collate utf8mb4_bin", "DEFAULT CHARSET=latin1", 46, 46),
        ("text binary", "DEFAULT CHARSET=latin1", 47, 47),
        ("text ascii binary", "", 47, 47),
        ("char(3) unicode", "", 35, 2560),
        ("text", "", 8, 8),
        ("blob", "DEFAULT CHARSET=latin1", 63, 63),
        ("enum('a') charset latin1", "", 8, 8),
        ("nchar(3) binary", "", 83, 83),
        ("text", "/*!50100 DEFAULT CHARSET=ascii */", 11, 11),
    ] {
        assert_eq!(
            collation(definition, tail, MYSQL, Some(8)).unwrap(),
            Some(mysql),
            "{definition}"
        );
        assert_eq!(
            collation(definition, tail, MARIADB, Some(8)).unwrap(),
            Some(mariadb),
            "{definition}"
        );
    }
    assert_eq!(collation("text collate uca1400_as_cs", "", MARIADB, Some(45)).unwrap(), Some(2307));
    for (definition, tail) in [
        ("text", ""),
        ("text collate klingon_ci", ""),
        ("text charset latin1 collate utf8mb4_bin", ""),
        ("text", "COLLATE=klingon_ci"),
    ] {
        assert!(collation(definition, tail, MYSQL, None).is_err(), "{definition} {tail}");
    }
    // The caller does not know it either.
    let error = collation("text", "", MYSQL, None).unwrap_err().to_string();
    assert!(error.contains("DEFAULT CHARSET"), "{error}");
}

#[test]
fn members() {
    let of = |sql| {
        let members = column(sql, MYSQL).members.unwrap();
        members.iter().map(|m| m.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(
        of("enum('a', 'it''s', \"b\\\"\", 'c\\nd', 'e  ', x'41')"),
        ["a", "it's", "b\"", "c\nd", "e", "A"]
    );
    assert_eq!(of("set('a b','',0x42) charset binary"), ["a b", "", "B"]);
    let many = |kind: &str, count: usize| {
        let members: Vec<_> = (0..count).map(|number| format!("'{number}'")).collect();
        column(&format!("{kind}({})", members.join(",")), MYSQL).column_type
    };
    assert_eq!(many("enum", 255), T::Enum { bytes: 1 });
    assert_eq!(many("enum", 256), T::Enum { bytes: 2 });
    for (count, bytes) in [(8, 1), (9, 2), (17, 3), (25, 4), (33, 8), (64, 8)] {
        assert_eq!(many("set", count), T::Set { bytes });
    }
}

#[test]
fn keys() {
    let key = |elements: &str, server| {
        let table = schema(&format!("CREATE TABLE t ({elements}) charset latin1"), server);
        let parts = table.primary_key.iter().map(|part| (part.column, part.prefix));
        parts.collect::<Vec<_>>()
    };
    for (elements, parts) in [
        ("a int primary key, b int", &[(0, 0)][..]),
        ("a int, b int key", &[(1, 0)]),
        ("a int, b varchar(9), primary key (b(3), a)", &[(1, 3), (0, 0)]),
        (
            "a int, b varchar(9), constraint x primary key using btree (`B`(9) desc) comment 'k'",
            &[(1, 0)],
        ),
        ("a int not null, b int, unique (b), unique key k (a) using btree", &[(0, 0)]),
        ("a int not null, b int not null unique, unique (a)", &[(1, 0)]),
        ("a varchar(9) not null, unique (a(3))", &[]),
        ("a int not null, b int, unique (a, b)", &[]),
        ("a int not null, unique ((a + 1))", &[]),
        ("a int as (1) virtual not null, unique (a)", &[]),
        ("a int, key (a), index i (a), fulltext key (a), spatial index (a), check (a > 1)", &[]),
        (
            "a int, constraint foreign key f (a) references x (y) on delete cascade, unique i (a)",
            &[],
        ),
        ("period int, vector int, primary key (vector, period)", &[(1, 0), (0, 0)]),
    ] {
        assert_eq!(key(elements, MYSQL), parts, "{elements}");
    }
    assert!(!schema("CREATE TABLE t (a int, primary key (a))", MYSQL).columns[0].nullable);
    let period =
        "id int, s date, e date, period for p (s, e), primary key (id, p without overlaps)";
    assert_eq!(key(period, MARIADB), [(0, 0), (2, 0), (1, 0)]);
}

#[test]
fn all_keys_in_the_order_of_servers() {
    let text = "CREATE TABLE t (a int not null, b varchar(9) not null, c int, d json, \
        e int as (a) virtual not null, f int as (a) stored not null, g serial, \
        unique n (c), unique key p using btree (b(3)) comment ')', constraint q unique (f, a), \
        constraint r unique key s (a desc) invisible, unique ((a + 1)), index x (a, b(2)), key (d), \
        fulltext key y (b) with parser ngram, spatial index (c), key m ((cast(d as char(9) array)), b), \
        constraint foreign key (a) references o (a), check (a > 0)) charset latin1";
    let table = schema(text, MYSQL);
    let keys = table.indexes.iter().map(|index| {
        let parts: Vec<_> = index.parts.iter().map(|part| (part.column, part.prefix)).collect();
        (index.kind, index.name.as_deref().unwrap_or_default(), parts, index.has_expression)
    });
    use crate::schema::IndexKind::{Other, Unique};
    let expected = [
        (Unique, "", vec![(6, 0)], false),
        (Unique, "q", vec![(5, 0), (0, 0)], false),
        (Unique, "s", vec![(0, 0)], false),
        (Unique, "p", vec![(1, 3)], false),
        (Unique, "n", vec![(2, 0)], false),
        (Unique, "", vec![], true),
        (Other, "x", vec![(0, 0), (1, 2)], false),
        (Other, "", vec![(3, 0)], false),
        (Other, "", vec![(2, 0)], false),
        (Other, "m", vec![(1, 0)], true),
        (Other, "y", vec![(1, 0)], false),
    ];
    assert_eq!(keys.collect::<Vec<_>>(), expected);
    let generated: Vec<_> = table.columns.iter().filter_map(|column| column.generated).collect();
    use crate::schema::Generated::{No, Stored, Virtual};
    assert_eq!(generated, [No, No, No, No, Virtual, Stored, No]);
}

#[test]
fn handle_keys() {
    use crate::schema::RowKey;
    let handle = |elements: &str| {
        let table = schema(&format!("CREATE TABLE t ({elements}) charset latin1"), MYSQL);
        match table.row_key() {
            RowKey::Columns(parts) => parts.iter().map(|part| part.column).collect(),
            RowKey::FullRow => Vec::new(),
        }
    };
    for (elements, columns) in [
        ("a int primary key, b int not null unique", &[0][..]),
        ("a int, b int not null unique", &[1]),
        ("a varchar(9) not null, b int, unique (b), unique (a(3))", &[0]),
        ("a varchar(9) not null, b int not null, unique (a(3)), unique (b)", &[1]),
        ("a int not null, b int, unique (a, b)", &[]),
        ("a int as (1) virtual not null, unique (a)", &[]),
        ("a int as (1) stored not null, unique (a)", &[0]),
        ("a int not null, unique ((a + 1)), key (a)", &[]),
        ("a int not null", &[]),
    ] {
        assert_eq!(handle(elements), columns, "{elements}");
    }
}

#[test]
fn columns_that_mariadb_adds() {
    let names = |schema: &TableSchema| -> Vec<String> {
        schema.columns.iter().map(|column| column.name.as_ref().unwrap().to_string()).collect()
    };
    let versioned = schema(
        "CREATE TABLE t (a int primary key) ENGINE=InnoDB WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME (PARTITION p CURRENT)",
        MARIADB,
    );
    assert_eq!(names(&versioned), ["a", "row_start", "row_end"]);
    assert_eq!(versioned.primary_key.len(), 2);
    assert_eq!(versioned.indexes[0].parts, versioned.primary_key);
    let own = schema(
        "CREATE TABLE t (a int, s timestamp(6) generated always as row start invisible, \
         e timestamp(6) as row end, period for system_time (s, e)) with system versioning",
        MARIADB,
    );
    assert_eq!(names(&own), ["a", "s", "e"]);
    let create = create(
        "CREATE TABLE t (a text, b int, unique (a), unique (b) using hash, unique (b)) charset latin1",
    );
    let schema = create.table_schema("shop", MARIADB, &|_| None).unwrap();
    assert_eq!(create.hash_columns(&schema).len(), 2);
}

#[test]
fn a_table_without_its_character_set() {
    for (text, is_left_out) in [
        ("CREATE TABLE \"t\" (a int)", true),
        ("CREATE TABLE \"t\" (a int) DEFAULT CHARSET=latin1", false),
        ("CREATE TABLE `t` (a int)", false),
    ] {
        assert_eq!(create(text).is_abridged, is_left_out, "{text}");
    }
}
