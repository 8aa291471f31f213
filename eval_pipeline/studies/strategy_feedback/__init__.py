"""Does a selector of strategies that learns from its own history pass more claims than one that does not?"""
