/** Whether an answer is a web page, as proxies and logins send in the place of what was asked for. */
export function isPage(text: string, type = ''): boolean {
  return (
    /^(text\/html|application\/xhtml\+xml)\b/i.test(type.trim()) ||
    /^\s*<(!doctype|!--|html|head|\?xml)/i.test(text)
  )
}
