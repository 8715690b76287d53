/** The texts of a form that were filled in, by the names of its fields. */
export function textsOf(form: FormData): Record<string, string> {
  return Object.fromEntries(
    [...form].filter((one): one is [string, string] => typeof one[1] === 'string' && one[1] !== ''),
  )
}
