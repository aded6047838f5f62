import com.github.shyiko.mysql.binlog.BinaryLogFileReader;
import com.github.shyiko.mysql.binlog.event.DeleteRowsEventData;
import com.github.shyiko.mysql.binlog.event.Event;
import com.github.shyiko.mysql.binlog.event.EventData;
import com.github.shyiko.mysql.binlog.event.TransactionPayloadEventData;
import com.github.shyiko.mysql.binlog.event.UpdateRowsEventData;
import com.github.shyiko.mysql.binlog.event.WriteRowsEventData;
import com.github.shyiko.mysql.binlog.event.deserialization.ChecksumType;
import com.github.shyiko.mysql.binlog.event.deserialization.EventDeserializer;
import java.io.BufferedInputStream;
import java.io.FileInputStream;

/**
 * mysql-binlog-connector-java, which Debezium uses: decodes all rows of a binlog file in its default settings. Checksums are
 * not verified, and JSON remains binary. The virtual machine is started before the time is taken.
 */
final class BinlogConnector {
    public static void main(String[] arguments) throws Exception {
        long rows = 0;
        long start = System.nanoTime();
        EventDeserializer deserializer = new EventDeserializer();
        deserializer.setChecksumType(ChecksumType.CRC32);
        var input = new BufferedInputStream(new FileInputStream(arguments[0]), 1 << 20);
        try (var reader = new BinaryLogFileReader(input, deserializer)) {
            for (Event event = reader.readEvent(); event != null; event = reader.readEvent()) {
                rows += rowImages(event.getData());
            }
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        System.out.println("{\"rows\": " + rows + ", \"seconds\": " + seconds + "}");
    }

    /** Returns the number of row images of an event: an update has two. */
    private static long rowImages(EventData data) {
        if (data instanceof WriteRowsEventData write) {
            return write.getRows().size();
        }
        if (data instanceof UpdateRowsEventData update) {
            return 2L * update.getRows().size();
        }
        if (data instanceof DeleteRowsEventData delete) {
            return delete.getRows().size();
        }
        if (data instanceof TransactionPayloadEventData payload) {
            return payload.getUncompressedEvents().stream().mapToLong(each -> rowImages(each.getData())).sum();
        }
        return 0;
    }
}
