/** The commonest passwords of eight characters and more, of lists that attackers try first. */
export const guessablePasswords: ReadonlySet<string> = new Set(
  `
  password passw0rd p@ssword p@ssw0rd pa$$word pa$$w0rd password1 password12 password123
  password1234 password! passwords mypassword changeme changeit letmein1 letmein123 welcome1
  welcome123 welcome! default1 administrator admin123 admin1234 adminadmin administrator1
  rootroot root1234 toor1234 qwertyui qwertyuiop qwerty12 qwerty123 qwerty1234 qwer1234
  1qaz2wsx 1q2w3e4r 1q2w3e4r5t q1w2e3r4 q1w2e3r4t5 zaq12wsx zaq1zaq1 asdfghjk asdfghjkl
  asdf1234 zxcvbnm1 zxcvbnm, 12345678 123456789 1234567890 12345679 123123123 12341234
  11223344 87654321 987654321 0987654321 01234567 123456789a 12345678a a1234567 a12345678
  abcd1234 abcdefgh abc12345 abcabcabc 1234abcd 1234qwer aaaa1111 147258369 159753456
  iloveyou iloveyou1 iloveyou2 ilovegod sunshine sunshine1 princess princess1 football
  football1 baseball baseball1 basketball superman superman1 batman123 spiderman starwars
  pokemon1 pokemon123 michael1 jennifer jessica1 michelle charlie1 jordan23 liverpool
  liverpool1 chelsea1 arsenal1 manchester barcelona realmadrid trustno1 whatever whatever1
  computer computer1 internet internet1 samsung1 samsung123 google123 facebook facebook1
  dragon123 monkey123 shadow123 master123 secret123 secret12 hello123 hello1234 hellohello
  test1234 testtest test12345 testing1 testing123 temp1234 guest123 user1234 username
  access14 lovelove babygirl babygirl1 butterfly chocolate blink182 corvette mercedes
  mustang1 ferrari1 elephant dolphin1 rainbow1 blessed1 november december september
  summer2024 summer2025 summer2026 winter2024 winter2025 winter2026 spring2026 autumn2026
  gateway1 gateway123 openai123 chatgpt1 chatgpt123 correcthorsebatterystaple
  `
    .trim()
    .split(/\s+/),
)
