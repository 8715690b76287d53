/** Values of the form's text fields by name, without empty fields. */
export function textsOf(form: FormData): Record<string, string> {
  return Object.fromEntries(
    [...form].filter((one): one is [string, string] => typeof one[1] === 'string' && one[1] !== ''),
  )
}
