/* global document, fetch, history, location */
// The page of a one-time link: takes the token out of the address, and sends it with what is filled in.

const { send, session } = document.body.dataset
const byId = (id) => document.getElementById(id)
const form = byId('form')
const button = byId('send')
/** What requests of who is signed in carry. */
let csrfToken

const token = takeToken()
// Only who is invited may be somebody already.
const known = token !== undefined && session !== undefined ? await call('GET', session) : undefined
csrfToken = known?.body?.csrf_token

if (token === undefined) {
  tell('This address has no token. Open the whole link, as it was given to you.')
} else if (csrfToken === undefined) {
  showForm()
} else {
  byId('signed-in').hidden = false
  byId('signed-in-as').textContent = `${known.body.person.name} (${known.body.person.email})`
  for (const element of form.querySelectorAll('.field')) element.remove()
  button.textContent = 'Join'
  form.hidden = false
  button.focus()
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void enter()
})
byId('sign-out')?.addEventListener('click', () => void signOut())

/** From the address, once; then it is kept with the place in the history, so that reloading works. */
function takeToken() {
  const given = new URLSearchParams(location.search).get('token') || history.state?.token
  history.replaceState(given ? { token: given } : null, '', location.pathname)
  return given || undefined
}

function showForm() {
  form.hidden = false
  form.querySelector('input').focus()
}

async function enter() {
  const filled = [...form.querySelectorAll('input')].filter(({ value }) => value !== '')
  const fields = Object.fromEntries(filled.map(({ name, value }) => [name, value]))
  const { body, refusal } = await busy(() => call('POST', send, { token, ...fields }))
  if (refusal !== undefined) return tell(refusal.message, refusal.param)
  history.replaceState(null, '', location.pathname)
  welcome(body.person)
}

async function signOut() {
  const { refusal } = await busy(() => call('DELETE', session))
  if (refusal !== undefined) return tell(refusal.message)
  // The form begins anew, with all its fields; the token is kept with the place.
  location.reload()
}

/** The body of an answer, or why it was refused. */
async function call(method, path, content) {
  const headers = {
    ...(content && { 'content-type': 'application/json' }),
    ...(csrfToken && { 'x-csrf-token': csrfToken }),
  }
  const request = { method, headers, ...(content && { body: JSON.stringify(content) }) }
  try {
    const response = await fetch(path, request)
    const body = await response.json().catch(() => undefined)
    if (response.ok) return { body }
    return { refusal: body?.error ?? { message: `The gateway answers ${response.status}.` } }
  } catch {
    return { refusal: { message: 'The gateway cannot be reached. Try again in a moment.' } }
  }
}

/** Does it with the button at rest, so that nothing is sent twice. */
async function busy(act) {
  button.disabled = true
  byId('alert').hidden = true
  form.setAttribute('aria-busy', 'true')
  try {
    return await act()
  } finally {
    button.disabled = false
    form.removeAttribute('aria-busy')
  }
}

/** Tells what is wrong, and marks the field that it is about. */
function tell(message, param) {
  for (const input of form.querySelectorAll('input')) {
    if (input.name === param) input.setAttribute('aria-invalid', 'true')
    else input.removeAttribute('aria-invalid')
  }
  const alert = byId('alert')
  alert.textContent = message
  alert.hidden = false
  alert.focus()
}

function welcome({ name, email, memberships }) {
  const roles = memberships.map(({ role, account_name: account }) => `${role} of ${account}`)
  byId('who').textContent = `${name} (${email}), ${roles.join(', ')}`
  byId('before').remove()
  byId('after').hidden = false
  byId('welcome').focus()
}
