// Writes every setting that a Kafka release knows, one a line:
//   topic, broker or producer, name, type, least and greatest value, allowed words, default
// separated by tabs; empty where the release names none. Started from its source, with the release's jars:
//   java -cp 'libs/*' ListSettings.java
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.ConfigKey;
import org.apache.kafka.common.config.ConfigDef.Type;

public class ListSettings {
    public static void main(String[] args) throws Exception {
        list("topic", definitions("org.apache.kafka.storage.internals.log.LogConfig", "configDefCopy"));
        list("broker", definitions("kafka.server.KafkaConfig", "configDef"));
        list("producer", definitions("org.apache.kafka.clients.producer.ProducerConfig", "configDef"));
        // A broker gives its plugins all settings; these two are read by the one that Kafka ships.
        Class<?> authorizer = Class.forName("org.apache.kafka.metadata.authorizer.StandardAuthorizer");
        row("broker", (String) authorizer.getField("SUPER_USERS_CONFIG").get(null), "STRING", "", "", "", "");
        String open = (String) authorizer.getField("ALLOW_EVERYONE_IF_NO_ACL_IS_FOUND_CONFIG").get(null);
        row("broker", open, "BOOLEAN", "", "", "", "");
    }

    private static ConfigDef definitions(String className, String method) throws Exception {
        return (ConfigDef) Class.forName(className).getMethod(method).invoke(null);
    }

    private static void list(String scope, ConfigDef definitions) throws Exception {
        for (ConfigKey key : new TreeMap<>(definitions.configKeys()).values()) {
            String[] range = {"", ""};
            List<String> allowed = new ArrayList<>();
            read(key.validator, range, allowed);
            String first = key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null;
            row(scope, key.name, key.type.name(), range[0], range[1], String.join(",", allowed), first);
        }
    }

    // A validator that is no range and no list of words (a lambda, a class of its own) allows all here, but
    // for one that wants some text.
    private static void read(Object validator, String[] range, List<String> allowed) throws Exception {
        if (validator == null) {
            return;
        }
        switch (validator.getClass().getSimpleName()) {
            case "Range":
                range[0] = text(field(validator, "min"));
                range[1] = text(field(validator, "max"));
                break;
            case "NonEmptyString":
            case "NonEmptyStringWithoutControlChars":
                allowed.add("(not empty)");
                break;
            case "CaseInsensitiveValidString":
                allowed.add("(any case)");
            case "ValidString":
                for (Object word : new TreeSet<>((Collection<?>) field(validator, "validStrings"))) {
                    allowed.add(text(word));
                }
                break;
            case "ValidList":
                read(field(validator, "validString"), range, allowed);
                break;
            case "CompositeValidator":
                for (Object part : (Collection<?>) field(validator, "validators")) {
                    read(part, range, allowed);
                }
                break;
        }
    }

    private static Object field(Object owner, String name) throws Exception {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }

    private static String text(Object value) {
        return value == null ? "" : value.toString();
    }

    private static void row(String... cells) {
        for (int i = 0; i < cells.length; i++) {
            cells[i] = text(cells[i]).replaceAll("[\\t\\r\\n]", " ");
        }
        System.out.println(String.join("\t", cells));
    }
}
