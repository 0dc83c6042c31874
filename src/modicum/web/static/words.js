// Words for things on the page: "picture 7", "3 sounds", "group 2 (gulls)".

const NOUNS = { image: ["picture", "pictures"], text: ["text", "texts"], audio: ["sound", "sounds"] };

const plural = (number, [one, many]) => `${number} ${number === 1 ? one : many}`;

export class Words {
  constructor(items) {
    this.items = new Map(items.map((item, i) => [item.id, { ...item, label: `${NOUNS[item.kind][0]} ${i + 1}` }]));
    const kinds = new Set(items.map((item) => item.kind));
    this.noun = kinds.size === 1 ? NOUNS[items[0].kind] : ["item", "items"];
  }

  count(number) {
    return plural(number, this.noun);
  }

  // "picture 7": what the item is called when it is moved.
  item(id) {
    return this.items.get(id).label;
  }

  // "picture 7, gull 7": what the item is called when it is met.
  itemInFull(id) {
    const { label, kind, alt, name, text } = this.items.get(id);
    const more = kind === "text" ? text : alt || name;
    return more ? `${label}, ${more}` : label;
  }

  some(ids) {
    return ids.length === 1 ? this.item(ids[0]) : this.count(ids.length);
  }

  group(groups, id) {
    const at = groups.findIndex((group) => group.id === id);
    const { name } = groups[at];
    return name ? `group ${at + 1} (${name})` : `group ${at + 1}`;
  }
}

export const groupsInWords = (number) => plural(number, ["group", "groups"]);
