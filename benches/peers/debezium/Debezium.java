import io.debezium.embedded.Connect;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.DebeziumEngine.RecordCommitter;
import io.debezium.engine.RecordChangeEvent;
import io.debezium.engine.format.ChangeEventFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * Debezium's embedded engine: receives the changes of tables of a MySQL server, and does nothing with them. The settings are the
 * defaults. The first run reads the structures and ends with the first change; the next one continues there.
 *
 * <p>Arguments: port, user, password, folder of the stored position, database, number of changes after which it ends.
 */
final class Debezium {
    private long changes;
    private long first;
    private long last;

    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("").setLevel(Level.WARNING);
        var end = new CompletableFuture<Void>();
        var counter = new Debezium();
        long wanted = Long.parseLong(arguments[5]);
        long start = System.nanoTime();
        DebeziumEngine<RecordChangeEvent<SourceRecord>> engine =
                DebeziumEngine.create(ChangeEventFormat.of(Connect.class))
                        .using(settings(arguments))
                        .notifying((events, committer) -> {
                            counter.count(events, committer);
                            if (counter.changes >= wanted) {
                                end.complete(null);
                            }
                        })
                        .using((success, message, error) -> {
                            if (!success) {
                                end.completeExceptionally(error != null ? error : new IOException(message));
                            }
                        })
                        .build();
        var executor = Executors.newSingleThreadExecutor();
        executor.execute(engine);
        try {
            end.get();
        } finally {
            engine.close();
            executor.shutdown();
        }
        System.out.println("{\"changes\": " + counter.changes + ", \"seconds\": " + (counter.last - counter.first) / 1e9
                + ", \"seconds_with_start\": " + (counter.last - start) / 1e9 + ", \"cpu\": " + cpuSeconds()
                + ", \"peak\": " + peakMebibytes() + "}");
    }

    private static double cpuSeconds() {
        return ProcessHandle.current().info().totalCpuDuration().orElseThrow().toMillis() / 1e3;
    }

    private static double peakMebibytes() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return Double.parseDouble(line.replaceAll("[^0-9]", "")) / 1024;
            }
        }
        throw new IOException("/proc/self/status has no VmHWM");
    }

    private void count(List<RecordChangeEvent<SourceRecord>> events, RecordCommitter<RecordChangeEvent<SourceRecord>> committer)
            throws InterruptedException {
        if (changes == 0) {
            first = System.nanoTime();
        }
        for (var event : events) {
            if (event.record().valueSchema() != null) { // no tombstones
                changes++;
            }
            committer.markProcessed(event);
        }
        committer.markBatchFinished();
        last = System.nanoTime();
    }

    private static Properties settings(String[] arguments) {
        var settings = new Properties();
        settings.setProperty("name", "bench");
        settings.setProperty("connector.class", "io.debezium.connector.mysql.MySqlConnector");
        settings.setProperty("topic.prefix", "bench");
        settings.setProperty("database.hostname", "127.0.0.1");
        settings.setProperty("database.port", arguments[0]);
        settings.setProperty("database.user", arguments[1]);
        settings.setProperty("database.password", arguments[2]);
        settings.setProperty("database.server.id", "5431");
        settings.setProperty("database.include.list", arguments[4]);
        settings.setProperty("include.schema.changes", "false");
        settings.setProperty("tombstones.on.delete", "false");
        settings.setProperty("snapshot.mode", "no_data");
        settings.setProperty("schema.history.internal", "io.debezium.storage.file.history.FileSchemaHistory");
        settings.setProperty("schema.history.internal.file.filename", arguments[3] + "/schemas");
        settings.setProperty("offset.storage", "org.apache.kafka.connect.storage.FileOffsetBackingStore");
        settings.setProperty("offset.storage.file.filename", arguments[3] + "/offsets");
        settings.setProperty("offset.flush.interval.ms", "10000");
        return settings;
    }
}
