/**
 * What the sandbox can draw, by the words that ask for it: English, then German, French, Spanish
 * and Chinese. Plurals that end in s, es or ies are found by themselves; others are listed.
 */

/** What stands, flies or swims in a picture. */
export const thingWords = {
  house:
    'house home cottage cabin hut farm barn village dorf dörfer pueblo haus häuser hütte maison casa 房子 房屋 小屋',
  castle: 'castle palace fortress schloss burg château castillo 城堡',
  lighthouse: 'lighthouse leuchtturm phare faro 灯塔',
  tower: 'tower turm tour torre 塔',
  church: 'church chapel cathedral temple kirche église iglesia 教堂',
  windmill: 'windmill mill mühle moulin molino 风车',
  tent: 'tent camp camping zelt tente tienda 帐篷',
  tree: 'tree oak maple birch baum bäume arbre árbol árboles 树 大树',
  cherry: 'cherry sakura kirschbaum kirsche cerisier cerezo 樱花',
  pine: 'pine fir spruce tanne kiefer sapin pino 松树',
  palm: 'palm palmtree palme palmier palmera 棕榈',
  flower:
    'flower rose tulip daisy poppy blossom sunflower lily blume blumen fleur flor flores 花 花朵',
  cactus: 'cactus cacti kaktus 仙人掌',
  mushroom: 'mushroom toadstool pilz pilze champignon seta hongo 蘑菇',
  bush: 'bush shrub busch buisson arbusto 灌木',
  cat: 'cat kitten kitty katze katzen kätzchen chat gato gata 猫 小猫',
  dog: 'dog puppy hound hund hunde chien perro 狗 小狗',
  fox: 'fox foxes fuchs füchse renard zorro 狐狸',
  deer: 'deer stag reindeer fawn moose elk hirsch hirsche reh rehe cerf ciervo 鹿',
  horse: 'horse pony unicorn zebra pferd pferde cheval chevaux caballo 马',
  bird: 'bird robin sparrow parrot crow raven seagull gull eagle owl vogel vögel oiseau oiseaux pájaro 鸟 小鸟',
  fish: 'fish fishes goldfish salmon fisch fische poisson pez peces 鱼',
  rabbit: 'rabbit bunny hare hase kaninchen lapin conejo 兔子 兔',
  bear: 'bear panda teddy bär bären oso 熊 熊猫',
  elephant: 'elephant elefant éléphant elefante 大象',
  sheep: 'sheep lamb goat schaf schafe mouton oveja 羊 绵羊',
  cow: 'cow bull cattle kuh kühe vache vaca 牛 奶牛',
  butterfly: 'butterfly butterflies schmetterling papillon mariposa 蝴蝶',
  whale: 'whale dolphin wal wale baleine ballena 鲸鱼 鲸',
  otter: 'otter seal beaver loutre nutria 水獭 海獭',
  duck: 'duck duckling goose swan ente enten canard pato 鸭子',
  penguin: 'penguin pinguin pinguine pingouin pingüino 企鹅',
  person:
    'person man boy guy human people farmer hiker traveler traveller knight wizard king prince fisherman sailor chef doctor teacher student pirate warrior samurai soldier santa mann männer junge homme garçon hombre niño 人 男人 男孩',
  woman:
    'woman women girl lady queen princess dancer frau mädchen femme fille mujer niña 女人 女孩',
  astronaut: 'astronaut cosmonaut kosmonaut astronaute astronauta 宇航员',
  child: 'child children kid kinder enfant hijo 孩子 小孩',
  robot: 'robot android cyborg roboter 机器人',
  snowman: 'snowman schneemann 雪人',
  car: 'car automobile taxi truck van auto wagen voiture coche carro 汽车 车',
  bus: 'bus tram train bahn zug autobús 公交车 火车',
  bicycle: 'bicycle bike cyclist fahrrad vélo bicicleta 自行车',
  boat: 'boat sailboat sailing yacht ship canoe boot boote schiff segelboot bateau barco barca 船 小船 帆船',
  dragon: 'dragon drago dragón drache 龙',
  balloon: 'balloon airship zeppelin ballon montgolfière globo 气球 热气球',
  plane: 'plane airplane aeroplane aircraft jet flugzeug avion avión 飞机',
  rocket: 'rocket spaceship spacecraft rakete fusée cohete 火箭',
  kite: 'kite cometa 风筝',
  apple: 'apple apfel äpfel pomme manzana 苹果',
  orange: 'oranges tangerine peach lemon orangen citron naranja limón 橙子 柠檬',
  pear: 'pear birne birnen poire pera 梨',
  banana: 'banana banane bananen plátano 香蕉',
  cake: 'cake cupcake pie muffin kuchen torte gâteau pastel tarta 蛋糕',
  cup: 'cup mug coffee tea teacup espresso cappuccino tasse kaffee tee café thé taza té 杯子 咖啡 茶',
  book: 'book books novel buch bücher livre libro 书',
  vase: 'vase bouquet pot jarrón 花瓶',
  candle: 'candle lamp lantern kerze lampe bougie vela 蜡烛 灯',
  bottle: 'bottle wine potion flasche wein bouteille vin botella vino 瓶子 酒',
  heart: 'heart herz cœur coeur corazón 心 爱',
  umbrella: 'umbrella parasol regenschirm parapluie paraguas 雨伞 伞',
} as const

/** Where it is: what lies at the horizon and under the feet. */
export const placeWords = {
  sea: 'sea ocean coast shore bay wave waves meer ozean küste mer océan côte mar océano costa 海 大海 海洋',
  beach: 'beach sand tropical strand plage playa 海滩 沙滩',
  lake: 'lake pond lac lago étang 湖 湖泊',
  river: 'river stream creek brook fluss bach rivière fleuve río 河 河流 小溪',
  mountain:
    'mountain alps peak summit cliff volcano berg berge gebirge montagne montaña montañas 山 高山 山脉',
  hill: 'hill valley hügel tal colline colina valle 山丘',
  forest: 'forest park wood woods jungle woodland wald wälder forêt bosque selva 森林 树林',
  meadow:
    'meadow field grass garden lawn wiese feld garten pré champ jardin prado campo jardín 草地 田野 花园',
  desert: 'desert dune sahara wüste désert desierto 沙漠',
  city: 'city skyline town downtown skyscraper metropolis urban stadt ville ciudad 城市',
  street:
    'street road alley avenue highway lane straße strasse rue route calle carretera 街 街道 路',
  island: 'island insel île isla 岛',
  space:
    'space galaxy cosmos universe orbit planet mars weltraum weltall espace espacio 太空 宇宙 星球',
  underwater: 'underwater reef coral aquarium seabed unterwasser 水下 海底',
  table: 'table desk still-life kitchen tisch tableau mesa cocina 桌子 厨房',
} as const

/** The light, the weather and what is in the sky. */
export const skyWords = {
  night: 'night midnight nacht nuit noche 夜 夜晚 晚上',
  sunset:
    'sunset dusk evening twilight sonnenuntergang abend coucher soir atardecer ocaso 日落 黄昏 傍晚',
  dawn: 'dawn sunrise morning sonnenaufgang morgen aube matin amanecer alba 日出 早晨 黎明',
  day: 'day noon daylight jour día 白天',
  sun: 'sun sunny sunshine sonne soleil sol 太阳 阳光',
  moon: 'moon moonlight mond lune luna 月亮 月',
  stars: 'star stars starry stern sterne étoile étoiles estrella estrellas 星星 星',
  cloud: 'cloud cloudy overcast wolke wolken nuage nube nubes 云',
  rain: 'rain rainy regen pluie lluvia 雨',
  storm:
    'storm stormy thunderstorm thunder hurricane sturm gewitter tempête orage tormenta 暴风雨 风暴',
  lightning: 'lightning blitz éclair relámpago 闪电',
  snow: 'snow snowy winter ice icy frozen christmas schnee neige hiver nieve invierno 雪 冬天',
  fog: 'fog foggy mist misty haze nebel brume brouillard niebla 雾',
  rainbow: 'rainbow regenbogen arc-en-ciel arcoíris 彩虹',
  aurora: 'aurora borealis polarlicht aurore 极光',
  autumn: 'autumn fall herbst automne otoño 秋天',
  spring: 'spring frühling printemps primavera 春天',
  sky: 'sky himmel ciel cielo 天空',
} as const

/** How it is painted. */
export const styleWords = {
  watercolour: 'watercolor watercolour aquarell aquarelle acuarela 水彩',
  pixels: 'pixel pixelart pixelated 8-bit 像素',
  grey: 'monochrome grayscale greyscale schwarzweiß 黑白',
  sepia: 'sepia vintage',
  abstract: 'abstract geometric abstrakt abstrait abstracto 抽象',
} as const

export const colourWords = {
  '#d8413a': 'red scarlet crimson rot rote roter rotes roten rouge rojo roja 红 红色 红色的',
  '#ef8a33': 'orange orangener 橙 橙色',
  '#f5c63c': 'yellow gelb gelbe gelber gelbes jaune amarillo amarilla 黄 黄色',
  '#e3b23c': 'golden gold goldene doré dorado dorada 金 金色',
  '#4f9d57': 'green emerald grün grüne grüner grünes vert verte verde 绿 绿色',
  '#35a7a0': 'turquoise teal cyan türkis 青色',
  '#3f7fd0': 'blue azure navy blau blaue blauer blaues bleu bleue azul 蓝 蓝色',
  '#8358b8': 'purple violet lila violett morado morada 紫 紫色',
  '#ee8fb2': 'pink magenta rosa rosé 粉 粉色 粉红色',
  '#8a5a3c': 'brown braun braune brauner marron marrón 棕色 褐色',
  '#2e2e38': 'black schwarz schwarze schwarzer schwarzes noir noire negro negra 黑 黑色',
  '#f6f4ee': 'white weiß weiße weißer weißes blanc blanche blanco blanca 白 白色',
  '#98a0a8': 'gray grey silver grau graue grauer gris 灰 灰色',
} as const

export const numberWords = {
  1: 'a an one single lone ein eine einen un une una uno 一只 一个 一',
  2: 'two pair couple zwei deux dos 两只 两个 两 2',
  3: 'three drei trois tres 三只 三个 三 3',
  4: 'four vier quatre cuatro 四 4',
  5: 'five fünf cinq cinco 五 5',
  6: 'six sechs seis 六 6',
  7: 'seven several sieben sept siete 七 7',
  8: 'eight acht huit ocho 八 8',
  9: 'nine many neun neuf nueve 九 9',
  10: 'ten zehn dix diez 十 10',
  12: 'twelve dozen zwölf douze doce 11 12',
} as const

/** What someone wears: its colour is that of the one who was named last. */
export const clothesWords = {
  clothes:
    'dress coat jacket shirt suit sweater hoodie skirt robe cloak kleid mantel jacke robe manteau vestido abrigo 裙子 衣服',
} as const

export const sideWords = {
  left: 'left links gauche izquierda 左',
  right: 'right rechts droite derecha 右',
  middle: 'middle center centre mitte milieu centro 中间',
} as const

export type ThingName = keyof typeof thingWords
export type PlaceName = keyof typeof placeWords
export type SkyName = keyof typeof skyWords
export type StyleName = keyof typeof styleWords
export type Side = keyof typeof sideWords
